// `sightline parity`: reference cases run and compared, the product's own proof.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "generate/precision.hpp"
#include "io/json.hpp"
#include "kernels/kernels.hpp"

namespace sightline::cli {
namespace {

using generate::ParityCheck;
using generate::ParityReport;

struct ParityCommandOptions {
  ModelOptions model;
  std::vector<std::string> cases;
  std::optional<double> tolerance;
};

const char* verdict(const ParityCheck& check) {
  if (check.ok) return "ok";
  return check.required ? "FAILED" : "note";
}

std::string check_line(const ParityCheck& check) {
  const std::string value = check.value ? fmt::format("{:.3g}", *check.value) : "none";
  std::string line = fmt::format("{:<7}{:<12}{:<52} {:>9} (at most {:g})", verdict(check),
                                 check.kind, check.name, value, check.bound);
  return check.detail.empty() ? line : line + ": " + check.detail;
}

std::string summary_line(const ParityReport& report) {
  const auto failed = std::count_if(report.checks.begin(), report.checks.end(),
                                    [](const auto& c) { return c.required && !c.ok; });
  if (report.ok) {
    return fmt::format("{}: equal to the reference ({} checks, {} tokens)", report.path,
                       report.checks.size(), report.tokens);
  }
  return fmt::format("{}: {} of {} checks FAILED; first module that diverges: {}", report.path,
                     failed, report.checks.size(), report.first_divergent.value_or("none"));
}

io::Json check_json(const ParityCheck& check) {
  io::Json json = io::Json::Object{{"kind", check.kind}, {"name", check.name}};
  json.add("value", check.value ? io::Json(*check.value) : io::Json(nullptr));
  json.add("bound", check.bound);
  json.add("ok", check.ok);
  json.add("required", check.required);
  if (!check.detail.empty()) json.add("detail", check.detail);
  return json;
}

io::Json report_json(const ParityReport& report, PrecisionMode precision) {
  io::Json checks = io::Json::array();
  for (const ParityCheck& check : report.checks) checks.push(check_json(check));
  io::Json first = nullptr;
  if (report.first_divergent) first = *report.first_divergent;
  return io::Json::Object{{"case", report.path},
                          {"ok", report.ok},
                          {"precision", std::string(generate::name_of(precision))},
                          {"tokens", report.tokens},
                          {"first_divergent", std::move(first)},
                          {"checks", std::move(checks)}};
}

void show(const ParityReport& report, PrecisionMode precision, Output& output) {
  if (output.json()) {
    output.line(io::to_json_text(report_json(report, precision)));
  } else {
    for (const ParityCheck& check : report.checks) output.line(check_line(check));
    output.line(summary_line(report));
  }
  output.flush();
}

int parity(const ParityCommandOptions& options, Output& output) {
  const EngineOptions& engine = options.model.engine;
  const kernels::Kernels& set = kernels::select(engine.isa);
  const auto model = generate::load_model(options.model.directory(), engine.use_mmap);
  Threads threads(engine.threads > 0 ? engine.threads : available_threads().count);
  Arena arena;
  nn::Pass pass(set, threads, arena);
  pass.precision = generate::cache_precision(engine.precision);
  generate::ParityOptions how;
  how.tolerance = options.tolerance;
  int code = kDone;
  for (const std::string& path : options.cases) {
    output.progress(fmt::format("running {}", path));
    const auto reference = generate::ReferenceCase::read(path, model->info());
    const ParityReport report = generate::run_parity(*model, pass, reference, how);
    show(report, engine.precision, output);
    if (!report.ok) code = kCheckFailed;
  }
  return code;
}

}  // namespace

Command parity_command() {
  auto options = std::make_shared<ParityCommandOptions>();
  options->model.engine.precision = PrecisionMode::f32;
  Command command("parity", "compare a run with transformers, module by module");
  command.description(
      "Runs reference cases, which tools/reference/capture.py makes from transformers for any "
      "checkpoint and picture (docs/parity.md), and compares positions, rope delta, every traced "
      "module, logits and greedy tokens. One line per check with its value and its bound, then the "
      "verdict with the first module that diverges. Exit code 0 when everything holds, else 1. The "
      "references are computed in float32, so f32 is the default precision here. Needs config.json "
      "and the weights.");
  add_model(command, options->model);
  command.positionals("CASE", options->cases, "Reference cases: .safetensors files.")
      .option("--tolerance X", options->tolerance,
              "Bound of the logits' error, as a share of the greatest logit (default: by "
              "precision).",
              kNotNegative)
      .choice("--precision P", options->model.engine.precision,
              {{"f32", PrecisionMode::f32}, {"bf16", PrecisionMode::bf16}},
              "'f32' (default) rounds no activation; 'bf16' rounds as 'sightline run' does.");
  add_machine_options(command, options->model.engine);
  add_revision(command, options->model);
  command.example("sightline parity ./checkpoint case.safetensors", "the proof for one prompt")
      .example("sightline parity ./checkpoint *.safetensors --precision bf16 --json",
               "several cases, rounded as in normal use, for programs")
      .action([options](Output& output) { return parity(*options, output); });
  return command;
}

}  // namespace sightline::cli
