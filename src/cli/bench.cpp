// `sightline bench`: how fast a checkpoint runs here, stage by stage, beside what the machine can.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>

#include "audit/bench.hpp"
#include "audit/module_tree.hpp"
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
  std::size_t sizes = 0;  ///< asked for
  std::int64_t runs = 0;  ///< of each
  bool complete = false;
  std::string kernel_set;
  int threads = 1;
  PrecisionMode precision = PrecisionMode::bf16;
  std::int64_t weight_bytes = 0;  ///< as stored
  kernels::MachineLimits limits;
  std::vector<audit::BenchLine> lines;
};

std::vector<std::int64_t> token_counts(const std::string& option,
                                       const std::vector<std::string>& texts,
                                       const model::ModelInfo& info) {
  const double most = std::min(kMostTokens, static_cast<double>(info.max_positions));
  std::vector<std::int64_t> counts;
  for (const std::string& text : texts) counts.push_back(parse_integer(option, text, {1, most}));
  return counts;
}

/// Positions that the model has must do for a context and the answer tokens after it.
void check_positions(const audit::BenchSizes& sizes, const model::ModelInfo& info) {
  for (const std::int64_t context : sizes.contexts) {
    if (context + sizes.answer <= info.max_positions) continue;
    throw Error(Code::invalid_option,
                fmt::format("--answer-after: expected at most {} tokens with those of the answer, "
                            "found {} and {}",
                            info.max_positions, context, sizes.answer));
  }
}

/// What was asked for; all three stages if nothing was.
audit::BenchSizes sizes_of(const BenchOptions& options, const std::string& directory,
                           const model::ModelInfo& info) {
  BenchOptions asked = options;
  if (asked.pictures.empty() && asked.prompts.empty() && asked.contexts.empty()) {
    if (info.has_vision) asked.pictures = {"256x256", "640x480"};
    asked.prompts = asked.contexts = {"512"};  // what peers' benchmarks take, too
  }
  audit::BenchSizes sizes;
  sizes.runs = options.runs;
  sizes.answer = options.answer;
  sizes.prompts = token_counts("--prompt", asked.prompts, info);
  sizes.contexts = token_counts("--answer-after", asked.contexts, info);
  check_positions(sizes, info);
  if (asked.pictures.empty()) return sizes;
  if (!info.has_vision) {
    throw Error(Code::invalid_option,
                "--image: expected a checkpoint with a vision tower, found one without");
  }
  const image::SizeRule rule = audit::size_rule(info, directory, {});
  for (const std::string& text : asked.pictures) {
    sizes.pictures.push_back(
        audit::picture_grid(info, rule, audit::parse_picture_size("--image", text)));
  }
  return sizes;
}

constexpr double kGiga = 1e9, kMilli = 1e3;

std::string share(double part, double whole) {
  constexpr double kPercent = 100;
  return fmt::format("{:.0f} %", part / whole * kPercent);
}

std::string time_text(double seconds) {
  constexpr double kLong = 10;
  return seconds < kLong ? fmt::format("{:.1f} ms", seconds * kMilli)
                         : fmt::format("{:.1f} s", seconds);
}

/// A row of the table. Its widths are fixed, since it is shown before the next one is known.
std::string table_row(const std::array<std::string, 8>& cells) {
  return fmt::format("{:<7}  {:<19} {:>9}  {:>8}  {:>7}  {:>5}  {:>5}  {:>5}\n", cells[0], cells[1],
                     cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]);
}

std::string table_row(const audit::BenchLine& line, const kernels::MachineLimits& limits) {
  const double flops = line.per_second(static_cast<double>(line.work.flops));
  const double bytes = line.per_second(static_cast<double>(line.work.weight_bytes));
  return table_row({line.stage, line.size, time_text(line.median()),
                    fmt::format("{:.1f}", line.per_second(static_cast<double>(line.tokens))),
                    fmt::format("{:.1f}", flops / kGiga), share(flops, limits.flops),
                    fmt::format("{:.1f}", bytes / kGiga), share(bytes, limits.read_bytes)});
}

/// Peak memory counts from here on; where the system has no such thing, from the beginning.
void restart_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

/// Measures; in text, every row is shown as soon as it is known.
BenchResult measure(const BenchOptions& options, Output& output) {
  const EngineOptions& engine = options.model.engine;
  const std::string directory = options.model.directory();
  BenchResult result;
  const kernels::Kernels& set = kernels::select(engine.isa);
  result.kernel_set = kernels::name_of(set);
  result.threads = engine.threads > 0 ? engine.threads : available_threads().count;
  Threads threads(result.threads);
  Arena arena;
  nn::Pass pass(set, threads, arena);
  result.precision = engine.precision;
  pass.precision = generate::cache_precision(engine.precision);
  output.progress("measuring the machine");
  result.limits = kernels::measure_limits(pass);  // before loading: its memory is given back
  restart_peak_memory();
  output.progress("loading the model");
  const auto start = std::chrono::steady_clock::now();
  const auto model = generate::load_model(
      directory, engine.use_mmap,
      generate::weight_form(engine.precision, engine.vision_precision, result.threads));
  result.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const audit::BenchSizes sizes = sizes_of(options, directory, model->info());
  result.sizes = sizes.count();
  result.runs = sizes.runs;
  result.weight_bytes = audit::module_tree(model->info().report).bytes();
  std::atomic<bool> cancel{false};
  pass.cancel = &cancel;
  const InterruptScope interrupt([&] { cancel = true; });
  if (!output.json()) {
    output.write(
        table_row({"stage", "size", "time", "tokens/s", "GFLOP/s", "share", "GB/s", "share"}));
  }
  const auto measured = [&](const audit::BenchLine& line) {
    result.lines.push_back(line);
    if (output.json()) return;
    output.write(table_row(line, result.limits));
    output.flush();
  };
  result.complete = audit::run_bench(
      *model, pass, sizes, {[&](const std::string& what) { output.progress(what); }, measured});
  output.progress("");
  return result;
}

/// Of a run that was interrupted.
std::string what_is_kept(const BenchResult& result) {
  std::string text = fmt::format("{} of {} sizes are shown", result.lines.size(), result.sizes);
  if (!result.lines.empty())
    text += fmt::format(", the last with {} of {} runs", result.lines.back().seconds.size(),
                        result.runs);
  return text + ".";
}

std::string conclusion(const BenchResult& result) {
  std::string text = fmt::format(
      "\nShares are of what this machine does, measured before: {:.0f} GFLOP/s of {}\n"
      "multiply-adds, {:.1f} GB/s read; GB/s are of weights ({}, {} thread{}).\n"
      "Weights: {} stored, loaded in {:.0f} ms for precision {}, each resident once;\n"
      "peak memory {} with program, cache and scratch. Times are medians of the runs.\n",
      result.limits.flops / kGiga, result.limits.tiles ? "bfloat16 tile" : "float32",
      result.limits.read_bytes / kGiga, result.kernel_set, result.threads,
      result.threads == 1 ? "" : "s", byte_text(result.weight_bytes), result.load_seconds * kMilli,
      generate::name_of(result.precision), byte_text(generate::peak_memory_bytes()));
  if (!result.complete) text += fmt::format("Incomplete: interrupted, {}\n", what_is_kept(result));
  return text;
}

io::Json line_json(const audit::BenchLine& line, const kernels::MachineLimits& limits) {
  io::Json seconds = io::Json::array();
  for (const double value : line.seconds) seconds.push(value);
  const double flops = line.per_second(static_cast<double>(line.work.flops));
  const double bytes = line.per_second(static_cast<double>(line.work.weight_bytes));
  return io::Json::Object{{"stage", line.stage},
                          {"size", line.size},
                          {"tokens", line.tokens},
                          {"seconds", std::move(seconds)},
                          {"median_seconds", line.median()},
                          {"tokens_per_second", line.per_second(static_cast<double>(line.tokens))},
                          {"flops", line.work.flops},
                          {"weight_bytes", line.work.weight_bytes},
                          {"activation_bytes", line.work.activation_bytes},
                          {"flops_per_second", flops},
                          {"share_of_peak", flops / limits.flops},
                          {"weight_bytes_per_second", bytes},
                          {"share_of_reading", bytes / limits.read_bytes}};
}

io::Json bench_json(const BenchResult& result) {
  io::Json lines = io::Json::array();
  for (const audit::BenchLine& line : result.lines) lines.push(line_json(line, result.limits));
  return io::Json::Object{
      {"complete", result.complete},
      {"kernel_set", result.kernel_set},
      {"threads", result.threads},
      {"precision", std::string(generate::name_of(result.precision))},
      {"load_seconds", result.load_seconds},
      {"stored_weight_bytes", result.weight_bytes},
      {"weights_resident_once", true},  // as stored, or packed and the file's pages let go
      {"peak_memory_bytes", generate::peak_memory_bytes()},
      {"limits", io::Json::Object{{"flops_per_second", result.limits.flops},
                                  {"read_bytes_per_second", result.limits.read_bytes}}},
      {"lines", std::move(lines)}};
}

int bench(const BenchOptions& options, Output& output) {
  const BenchResult result = measure(options, output);
  output.write(output.json() ? io::to_json_text(bench_json(result)) + "\n" : conclusion(result));
  if (result.complete) return kDone;
  output.notice(fmt::format("sightline: cancelled: {}\n", what_is_kept(result)));
  return kInterrupted;
}

}  // namespace

Command bench_command() {
  auto options = std::make_shared<BenchOptions>();
  Command command("bench", "how fast a checkpoint runs on this machine");
  command.description(
      "Runs pictures through the vision tower, prompts through the language model and answer "
      "tokens after a context, several times each, and shows the median time with the rate of each "
      "stage, beside two limits of this machine measured in the same minute: multiply-adds, and "
      "reading memory. Naming a size measures the sizes that are named and nothing else; every row "
      "is shown when it is known, and an interrupt (Ctrl-C) keeps what was measured. Pixels, "
      "tokens, and the keys and states of a context are made up: only their number matters. Needs "
      "config.json and the weights.");
  add_model(command, options->model);
  command
      .option("--image WxH", options->pictures,
              "A picture of this size in pixels, for each time it is given.")
      .option("--prompt N", options->prompts, "A prompt of N tokens, likewise.")
      .option("--answer-after N", options->contexts,
              "Answer tokens after a context of N tokens, likewise. Without any of the three: "
              "pictures of 256x256 and 640x480, and 512 tokens.")
      .option("--answer N", options->answer, "Answer tokens timed together (default: 16).",
              {1, kMostTokens})
      .option("--runs N", options->runs,
              "Timed runs of each, after a short one that is not (default: 5).", {1, kMostRuns});
  add_machine_options(command, options->model.engine);
  add_precision_options(command, options->model.engine);
  add_revision(command, options->model);
  command.example("sightline bench demo", "the shipped checkpoint, in seconds")
      .example("sightline bench ./Qwen3.5-2B --runs 1 --prompt 512 --prompt 4096 --prompt 16384",
               "how the cost of prompts grows")
      .example("sightline bench ./Qwen3.5-2B --answer-after 512 --answer-after 16384",
               "that of answers; no prompt is read for it")
      .action([options](Output& output) { return bench(*options, output); });
  return command;
}

}  // namespace sightline::cli
