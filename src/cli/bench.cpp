// `sightline bench`: how fast a checkpoint runs here, stage by stage, beside what the machine can.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "audit/bench.hpp"
#include "audit/picture_grid.hpp"
#include "base/arena.hpp"
#include "base/threads.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "generate/clock.hpp"
#include "generate/load_model.hpp"
#include "generate/precision.hpp"
#include "kernels/kernels.hpp"
#include "kernels/machine_limits.hpp"

namespace sightline::cli {
namespace {

constexpr double kMostTokens = 262144, kMostRuns = 1000;

struct BenchOptions {
  ModelOptions model;
  std::vector<std::string> pictures, prompts, contexts;
  std::int64_t answer = 16, runs = 5;
};

struct BenchResult {
  double load_seconds = 0;
  std::string kernel_set;
  int threads = 1;
  PrecisionMode precision = PrecisionMode::bf16;
  kernels::MachineLimits limits;
  std::vector<audit::BenchLine> lines;
};

std::vector<std::int64_t> token_counts(const std::string& option,
                                       const std::vector<std::string>& texts,
                                       std::int64_t fallback) {
  if (texts.empty()) return {fallback};
  std::vector<std::int64_t> counts;
  for (const std::string& text : texts)
    counts.push_back(parse_integer(option, text, {1, kMostTokens}));
  return counts;
}

audit::BenchSizes sizes_of(const BenchOptions& options, const std::string& directory,
                           const model::ModelInfo& info) {
  audit::BenchSizes sizes;
  sizes.runs = options.runs;
  sizes.answer = options.answer;
  constexpr std::int64_t kPrompt = 512;  // what peers' benchmarks take, too
  sizes.prompts = token_counts("--prompt", options.prompts, kPrompt);
  sizes.contexts = token_counts("--answer-after", options.contexts, kPrompt);
  std::vector<std::string> pictures = options.pictures;
  if (!info.has_vision) {
    if (pictures.empty()) return sizes;
    throw Error(Code::invalid_option,
                "--image: expected a checkpoint with a vision tower, found one without");
  }
  if (pictures.empty()) pictures = {"256x256", "640x480"};
  const image::SizeRule rule = audit::size_rule(info, directory, {});
  for (const std::string& text : pictures) {
    sizes.pictures.push_back(
        audit::picture_grid(info, rule, audit::parse_picture_size("--image", text)));
  }
  return sizes;
}

BenchResult measure(const BenchOptions& options, Output& output) {
  const EngineOptions& engine = options.model.engine;
  const std::string directory = options.model.directory();
  BenchResult result;
  const kernels::Kernels& set = kernels::select(engine.isa);
  result.kernel_set = kernels::name_of(set);
  result.threads = engine.threads > 0 ? engine.threads : available_threads().count;
  output.progress("loading the model");
  const auto start = std::chrono::steady_clock::now();
  const auto model = generate::load_model(
      directory, engine.use_mmap,
      generate::weight_form(engine.precision, engine.vision_precision, result.threads));
  result.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const audit::BenchSizes sizes = sizes_of(options, directory, model->info());
  Threads threads(result.threads);
  Arena arena;
  nn::Pass pass(set, threads, arena);
  result.precision = engine.precision;
  pass.precision = generate::cache_precision(engine.precision);
  output.progress("measuring the machine");
  result.limits = kernels::measure_limits(pass);
  std::atomic<bool> cancel{false};
  pass.cancel = &cancel;
  const InterruptScope interrupt([&] { cancel = true; });
  result.lines = audit::run_bench(*model, pass, sizes, [&](const std::string& next) {
    output.progress(fmt::format("{}, {} runs", next, options.runs));
  });
  output.progress("");
  return result;
}

std::string share(double part, double whole) {
  constexpr double kPercent = 100;
  return fmt::format("{:.0f} %", part / whole * kPercent);
}

std::string bench_text(const BenchResult& result) {
  Table table({{"stage"},
               {"size"},
               {"time", true},
               {"tokens/s", true},
               {"GFLOP/s", true},
               {"of peak", true},
               {"weights GB/s", true},
               {"of reading", true}});
  constexpr double kGiga = 1e9, kMilli = 1e3;
  for (const audit::BenchLine& line : result.lines) {
    const double flops = line.per_second(static_cast<double>(line.work.flops));
    const double bytes = line.per_second(static_cast<double>(line.work.weight_bytes));
    table.row({line.stage, line.size, fmt::format("{:.1f} ms", line.median() * kMilli),
               fmt::format("{:.1f}", line.per_second(static_cast<double>(line.tokens))),
               fmt::format("{:.1f}", flops / kGiga), share(flops, result.limits.flops),
               fmt::format("{:.1f}", bytes / kGiga), share(bytes, result.limits.read_bytes)});
  }
  return fmt::format(
      "{}\nThis machine, measured now: {:.0f} GFLOP/s of {} multiply-adds, {:.1f} GB/s read "
      "({}, {} thread{}).\nModel loaded in {:.0f} ms; peak memory {}. Times are medians of {} "
      "runs.\n",
      table.text(), result.limits.flops / kGiga, result.limits.tiles ? "bfloat16 tile" : "float32",
      result.limits.read_bytes / kGiga, result.kernel_set, result.threads,
      result.threads == 1 ? "" : "s", result.load_seconds * kMilli,
      byte_text(generate::peak_memory_bytes()),
      result.lines.empty() ? 0 : result.lines.front().seconds.size());
}

io::Json bench_json(const BenchResult& result) {
  io::Json lines = io::Json::array();
  for (const audit::BenchLine& line : result.lines) {
    io::Json seconds = io::Json::array();
    for (const double value : line.seconds) seconds.push(value);
    const double flops = line.per_second(static_cast<double>(line.work.flops));
    const double bytes = line.per_second(static_cast<double>(line.work.weight_bytes));
    lines.push(
        io::Json::Object{{"stage", line.stage},
                         {"size", line.size},
                         {"tokens", line.tokens},
                         {"seconds", std::move(seconds)},
                         {"median_seconds", line.median()},
                         {"tokens_per_second", line.per_second(static_cast<double>(line.tokens))},
                         {"flops", line.work.flops},
                         {"weight_bytes", line.work.weight_bytes},
                         {"activation_bytes", line.work.activation_bytes},
                         {"flops_per_second", flops},
                         {"share_of_peak", flops / result.limits.flops},
                         {"weight_bytes_per_second", bytes},
                         {"share_of_reading", bytes / result.limits.read_bytes}});
  }
  return io::Json::Object{
      {"kernel_set", result.kernel_set},
      {"threads", result.threads},
      {"precision", std::string(generate::name_of(result.precision))},
      {"load_seconds", result.load_seconds},
      {"peak_memory_bytes", generate::peak_memory_bytes()},
      {"limits", io::Json::Object{{"flops_per_second", result.limits.flops},
                                  {"read_bytes_per_second", result.limits.read_bytes}}},
      {"lines", std::move(lines)}};
}

int bench(const BenchOptions& options, Output& output) {
  const BenchResult result = measure(options, output);
  output.write(output.json() ? io::to_json_text(bench_json(result)) + "\n" : bench_text(result));
  return kDone;
}

}  // namespace

Command bench_command() {
  auto options = std::make_shared<BenchOptions>();
  Command command("bench", "how fast a checkpoint runs on this machine");
  command.description(
      "Runs pictures through the vision tower, prompts through the language model and answer "
      "tokens after a prompt, several times each, and shows the median time with the rate of each "
      "stage, beside two limits of this machine measured in the same minute: float32 "
      "multiply-adds, and reading memory. Pixels and tokens are made up: only their number "
      "matters. Needs config.json and the weights.");
  add_model(command, options->model);
  command
      .option("--image WxH", options->pictures,
              "A picture of this size in pixels (default: 256x256 and 640x480).")
      .option("--prompt N", options->prompts, "A prompt of N tokens (default: 512).")
      .option("--answer-after N", options->contexts, "Answer tokens after N tokens (default: 512).")
      .option("--answer N", options->answer, "Answer tokens timed together (default: 16).",
              {1, kMostTokens})
      .option("--runs N", options->runs, "Timed runs of each, after one that is not (default: 5).",
              {1, kMostRuns});
  add_machine_options(command, options->model.engine);
  add_precision_options(command, options->model.engine);
  add_revision(command, options->model);
  command.example("sightline bench demo", "the shipped checkpoint, in seconds")
      .example("sightline bench ./Qwen3.5-2B --image 1920x1080 --prompt 512 --prompt 4096",
               "how cost grows")
      .action([options](Output& output) { return bench(*options, output); });
  return command;
}

}  // namespace sightline::cli
