// `sightline plan`: tokens, memory, work and likely time of a question before it is asked.
#include <fmt/format.h>

#include <algorithm>

#include "audit/module_tree.hpp"
#include "audit/plan.hpp"
#include "audit/plan_prompt.hpp"
#include "cli/commands.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "cli/table.hpp"
#include "generate/clock.hpp"
#include "io/file.hpp"

namespace sightline::cli {
namespace {

constexpr std::int64_t kQuestionTokens = 2;  // of the reference's example: "color?"
constexpr double kMostTokens = 262144, kMostThreads = 1024;

constexpr std::int64_t kPiece = 512;  // EngineOptions::prefill_chunk by default

struct PlanOptions {
  ModelOptions model;
  std::optional<std::string> question, tokenizer;
  std::vector<std::string> images, videos;
  std::optional<std::int64_t> tokens;
  std::int64_t answer = 128;
  std::int64_t threads = 0;
  std::string isa;
};

struct Planned {
  audit::Plan plan;
  audit::PlannedText text;
};

/// Sizes of products like those of this model, and what one token reads.
audit::RateShape rate_shape(const model::ModelInfo& info, std::int64_t prompt_tokens) {
  return {info.hidden_size, std::min(prompt_tokens, kPiece),
          audit::module_tree(info.report).bytes()};
}

void check(const PlanOptions& options) {
  if (options.question && options.tokens)
    throw Error(Code::usage, "plan: QUESTION and --tokens exclude each other");
  if (options.tokenizer && !io::is_file(*options.tokenizer + "/tokenizer.json")) {
    throw Error(Code::file_not_found,
                fmt::format("--tokenizer: expected a directory with tokenizer.json, found no {}",
                            *options.tokenizer + "/tokenizer.json"),
                {{"file", *options.tokenizer + "/tokenizer.json"}});
  }
}

Planned make_plan(const PlanOptions& options) {
  check(options);
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  std::vector<audit::PlannedVisual> visuals;
  for (const std::string& size : options.images)
    visuals.push_back(audit::plan_picture(model->info(), subject, size));
  for (const std::string& size : options.videos)
    visuals.push_back(audit::plan_clip(model->info(), subject, size));
  Planned planned;
  planned.text =
      audit::plan_text(options.tokenizer ? options.tokenizer : subject.directory, visuals,
                       {options.question, options.tokens.value_or(kQuestionTokens)});
  const std::int64_t program = generate::peak_memory_bytes();  // before rates take memory
  const audit::MachineRates rates =
      audit::measure_rates(static_cast<int>(options.threads), options.isa,
                           rate_shape(model->info(), planned.text.tokens()));
  planned.plan = audit::make_plan(*model, std::move(visuals), planned.text.tokens(), kPiece, rates);
  planned.plan.program_bytes = program;
  return planned;
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

std::string plan_text(const Planned& planned, const PlanOptions& options) {
  const audit::Plan& plan = planned.plan;
  std::string text = visual_table(plan);
  text += fmt::format(
      "prompt    {} tokens: {} visual, {} of the question, {} around them,\n          {}\n",
      grouped(plan.prompt_tokens), grouped(plan.visual_tokens), grouped(planned.text.question),
      grouped(planned.text.wrapping),
      planned.text.exact ? "counted by its tokenizer" : "as the published template, thinking off");
  text += fmt::format(
      "memory    {}: weights {}, cache {}, scratch {},\n          pictures {}, program {}\n\n",
      byte_text(plan.memory_bytes()), byte_text(plan.weight_bytes), byte_text(plan.cache_bytes),
      byte_text(plan.scratch_bytes), byte_text(plan.picture_bytes), byte_text(plan.program_bytes));
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
             "\nThis machine, measured: {}FLOP/s of products, {}B/s of weights, {}B/s of "
             "activations\n({}, {} thread{}). Weights are taken to be in memory; reading them from "
             "a disk comes first.\n",
             count_text(plan.rates.flops), count_text(plan.rates.weight_bytes),
             count_text(plan.rates.activation_bytes), plan.rates.kernel_set, plan.rates.threads,
             plan.rates.threads == 1 ? "" : "s");
}

io::Json list(std::initializer_list<std::int64_t> values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

io::Json plan_json(const Planned& planned, const PlanOptions& options) {
  const audit::Plan& plan = planned.plan;
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
  double total = 0;
  for (const audit::PlanStage& stage : plan.stages)
    total += stage.seconds * (stage.name == "step" ? static_cast<double>(options.answer) : 1);
  return io::Json::Object{
      {"visuals", std::move(visuals)},
      {"visual_tokens", plan.visual_tokens},
      {"prompt_tokens", plan.prompt_tokens},
      {"text", io::Json::Object{{"question", planned.text.question},
                                {"around", planned.text.wrapping},
                                {"exact", planned.text.exact}}},
      {"memory", io::Json::Object{{"weights", plan.weight_bytes},
                                  {"cache", plan.cache_bytes},
                                  {"scratch", plan.scratch_bytes},
                                  {"pictures", plan.picture_bytes},
                                  {"program", plan.program_bytes},
                                  {"total", plan.memory_bytes()}}},
      {"stages", std::move(stages)},
      {"answer_tokens", options.answer},
      {"seconds", total},
      {"rates", io::Json::Object{{"flops_per_second", plan.rates.flops},
                                 {"weight_bytes_per_second", plan.rates.weight_bytes},
                                 {"activation_bytes_per_second", plan.rates.activation_bytes},
                                 {"threads", plan.rates.threads},
                                 {"kernel_set", plan.rates.kernel_set}}}};
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  options->isa = default_isa();
  Command command("plan", "tokens, memory, work and likely time before a question is asked");
  command.description(
      "Counts what a question takes by walking the model's own code without weights: visual tokens "
      "by the checkpoint's processor files (or the published limits), the text around them by its "
      "tokenizer and chat template (or the published count), memory, operations and bytes of each "
      "stage; and estimates the time from this machine's rates, measured with the engine's kernels "
      "in about a second.");
  add_subject(command, options->model);
  command
      .positional("QUESTION", options->question, "The question, to be counted; needs a tokenizer.")
      .option("--image WxH", options->images, "A picture of this size in pixels.")
      .option("--video FxWxH", options->videos, "A clip of F sampled frames of this size.")
      .option("--tokens N", options->tokens,
              "Tokens of the question, in place of its text (default: 2). What the template adds "
              "is counted too.",
              {0, kMostTokens})
      .option("--tokenizer DIR", options->tokenizer,
              "Count with the tokenizer and template of this directory (default: MODEL's).")
      .option("--answer N", options->answer, "Tokens of the answer (default: 128).",
              {0, kMostTokens})
      .option("--threads N", options->threads,
              "Threads to plan for and measure with (default: all).", {1, kMostThreads})
      .option(
          "--isa SET", options->isa,
          "Kernel set to plan for and measure with, see 'sightline version' (default: the best of "
          "this machine, or the environment variable SIGHTLINE_ISA).");
  add_revision(command, options->model);
  command.example("sightline plan qwen3.5-9b --image 1920x1080 --tokens 200", "one picture")
      .example("sightline plan demo --image 640x480 \"What is this?\" --json", "for programs")
      .action([options](Output& output) {
        const Planned planned = make_plan(*options);
        output.write(output.json() ? io::to_json_text(plan_json(planned, *options)) + "\n"
                                   : plan_text(planned, *options));
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
