// `sightline plan`: tokens, memory, work and likely time of a question before it is asked.
#include <fmt/format.h>

#include "audit/plan.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

constexpr std::int64_t kOtherTokens = 16;  // of the reference's example: a picture and "color?"
constexpr double kMostTokens = 262144, kMostThreads = 1024;

struct PlanOptions {
  ModelOptions model;
  std::vector<std::string> images, videos;
  std::int64_t tokens = kOtherTokens;
  std::int64_t answer = 128;
  std::int64_t threads = 0;
  std::string isa;
};

constexpr std::int64_t kPiece = 512;  // EngineOptions::prefill_chunk by default

audit::Plan make_plan(const PlanOptions& options) {
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  std::vector<audit::PlannedVisual> visuals;
  for (const std::string& size : options.images)
    visuals.push_back(audit::plan_picture(model->info(), subject, size));
  for (const std::string& size : options.videos)
    visuals.push_back(audit::plan_clip(model->info(), subject, size));
  const audit::MachineRates rates =
      audit::measure_rates(static_cast<int>(options.threads), options.isa);
  return audit::make_plan(*model, std::move(visuals), options.tokens, kPiece, rates);
}

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 2 * kMinute) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.1f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

std::string visual_table(const audit::Plan& plan) {
  if (plan.visuals.empty()) return {};
  Table table(
      {{"#", true}, {"kind"}, {"frames", true}, {"size"}, {"resized"}, {"grid"}, {"tokens", true}});
  for (std::size_t i = 0; i < plan.visuals.size(); ++i) {
    const audit::PlannedVisual& v = plan.visuals[i];
    table.row({std::to_string(i + 1), v.video ? "clip" : "picture",
               v.video ? std::to_string(v.frames) : "", fmt::format("{}x{}", v.width, v.height),
               fmt::format("{}x{}", v.resized_width, v.resized_height),
               fmt::format("{} x {} x {}", v.grid.t, v.grid.h, v.grid.w), grouped(v.tokens)});
  }
  return table.text() + "\n";
}

std::string plan_text(const audit::Plan& plan, const PlanOptions& options) {
  std::string text = visual_table(plan);
  text +=
      fmt::format("prompt    {} tokens: {} visual, {} others\n", grouped(plan.prompt_tokens),
                  grouped(plan.visual_tokens), grouped(plan.prompt_tokens - plan.visual_tokens));
  text += fmt::format("memory    {}: weights {}, cache {}, scratch {}\n\n",
                      byte_text(plan.memory_bytes()), byte_text(plan.weight_bytes),
                      byte_text(plan.cache_bytes), byte_text(plan.scratch_bytes));
  Table table({{"stage"},
               {"FLOPs", true},
               {"weights read", true},
               {"activations", true},
               {"likely time", true}});
  double total = 0;
  for (const audit::PlanStage& stage : plan.stages) {
    const bool step = stage.name == "step";
    const double times = step ? static_cast<double>(options.answer) : 1;
    total += stage.seconds * times;
    table.row({step ? "one token of the answer" : stage.name,
               count_text(static_cast<double>(stage.work.flops)),
               byte_text(stage.work.weight_bytes), byte_text(stage.work.activation_bytes),
               seconds_text(stage.seconds)});
  }
  table.row({fmt::format("all, with {} tokens", options.answer), "", "", "", seconds_text(total)});
  return text + table.text() +
         fmt::format(
             "\nThis machine, measured: {}FLOP/s of products, {}B/s of weights ({}, {} "
             "thread{}).\nTimes leave out what is not a product, and other load.\n",
             count_text(plan.rates.flops), count_text(plan.rates.weight_bytes),
             plan.rates.kernel_set, plan.rates.threads, plan.rates.threads == 1 ? "" : "s");
}

io::Json list(std::initializer_list<std::int64_t> values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

io::Json plan_json(const audit::Plan& plan) {
  io::Json visuals = io::Json::array(), stages = io::Json::array();
  for (const audit::PlannedVisual& v : plan.visuals) {
    visuals.push(io::Json::Object{{"kind", v.video ? "video" : "image"},
                                  {"frames", v.frames},
                                  {"size", list({v.height, v.width})},
                                  {"resized", list({v.resized_height, v.resized_width})},
                                  {"grid", list({v.grid.t, v.grid.h, v.grid.w})},
                                  {"tokens", v.tokens}});
  }
  for (const audit::PlanStage& stage : plan.stages) {
    stages.push(io::Json::Object{{"name", stage.name},
                                 {"flops", stage.work.flops},
                                 {"weight_bytes", stage.work.weight_bytes},
                                 {"activation_bytes", stage.work.activation_bytes},
                                 {"seconds", stage.seconds}});
  }
  return io::Json::Object{
      {"visuals", std::move(visuals)},
      {"visual_tokens", plan.visual_tokens},
      {"prompt_tokens", plan.prompt_tokens},
      {"memory", io::Json::Object{{"weights", plan.weight_bytes},
                                  {"cache", plan.cache_bytes},
                                  {"scratch", plan.scratch_bytes},
                                  {"total", plan.memory_bytes()}}},
      {"stages", std::move(stages)},
      {"rates", io::Json::Object{{"flops_per_second", plan.rates.flops},
                                 {"weight_bytes_per_second", plan.rates.weight_bytes},
                                 {"threads", plan.rates.threads},
                                 {"kernel_set", plan.rates.kernel_set}}}};
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  Command command("plan", "tokens, memory, work and likely time before a question is asked");
  command.description(
      "Counts what a question takes by walking the model's own code without weights: visual tokens "
      "by the checkpoint's processor files (or the published limits), memory of weights, cache and "
      "scratch, operations and bytes of each stage; and estimates the time from this machine's "
      "rates, measured with the engine's kernels in under a second.");
  add_subject(command, options->model);
  command.option("--image WxH", options->images, "A picture of this size in pixels.")
      .option("--video FxWxH", options->videos, "A clip of F sampled frames of this size.")
      .option("--tokens N", options->tokens,
              "Prompt tokens that are no placeholders, wrappers and time stamps included "
              "(default: 16).",
              {1, kMostTokens})
      .option("--answer N", options->answer, "Tokens of the answer (default: 128).",
              {0, kMostTokens})
      .option("--threads N", options->threads, "Threads to measure with (default: all).",
              {1, kMostThreads})
      .option("--isa SET", options->isa, "Kernel set to measure with, see 'sightline version'.");
  add_revision(command, options->model);
  command.example("sightline plan qwen3.5-9b --image 1920x1080 --tokens 200", "one picture")
      .example("sightline plan demo --image 640x480 --image 320x240 --json", "for programs")
      .action([options](Output& output) {
        const audit::Plan plan = make_plan(*options);
        output.write(output.json() ? io::to_json_text(plan_json(plan)) + "\n"
                                   : plan_text(plan, *options));
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
