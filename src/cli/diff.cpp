// `sightline diff`: two captures of a run, module by module.
#include <fmt/format.h>

#include <memory>

#include "audit/capture_diff.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using audit::CaptureDiff;
using State = trace::CaptureLine::State;

// What parity allows the widest of its modules in float32 (docs/parity.md).
constexpr double kTolerance = 3e-4;

struct DiffOptions {
  std::string a, b;
  double tolerance = kTolerance;
  bool brief = false;
};

std::string diff_text(const CaptureDiff& diff, bool brief) {
  Table table({{"module", false, true},
               {"state"},
               {"relative L2", true},
               {"cosine", true},
               {"max error", true}});
  for (const trace::CaptureLine& line : diff.comparison.lines) {
    const bool compared = line.state == State::within || line.state == State::diverged;
    if (brief && line.state == State::within) continue;
    const trace::Comparison& c = line.comparison;
    table.row({line.key, audit::state_text(line.state),
               compared ? fmt::format("{:.3g}", c.relative_l2) : "-",
               compared ? fmt::format("{:.9f}", c.cosine) : "-",
               compared ? fmt::format("{:.3g}", c.max_abs_error) : "-"});
  }
  std::string text = table.text() + "\n";
  if (diff.ok()) {
    return text + fmt::format("no divergence: {} tensors within a relative L2 of {:g}\n",
                              diff.compared(), diff.tolerance);
  }
  return text + fmt::format("first divergence: {}\n",
                            diff.comparison.lines[*diff.comparison.first_divergence].key);
}

int diff(const DiffOptions& options, Output& output) {
  const CaptureDiff diff = audit::diff_captures(options.a, options.b, options.tolerance);
  if (output.json()) {
    output.line(io::to_json_text(audit::diff_json(diff)));
  } else {
    output.write(diff_text(diff, options.brief));
  }
  return diff.ok() ? kDone : kCheckFailed;
}

}  // namespace

Command diff_command() {
  auto options = std::make_shared<DiffOptions>();
  Command command("diff", "compare two captures of a run, module by module");
  command.description(
      "Compares the tensors that both captures hold, in the order of the calls: relative L2 "
      "(against B), cosine, greatest error; and names the first module that diverges. Captures are "
      "made by 'sightline trace --save', or from transformers by tools/reference/capture.py. Exit "
      "code 0 when all agree, else 1.");
  command.positional("A", options->a, "A capture: .safetensors file.", true)
      .positional("B", options->b, "The capture to compare it with.", true)
      .group("Comparison")
      .option("--tolerance X", options->tolerance,
              "Relative L2 up to which two tensors are the same (default: 0.0003).", kNotNegative)
      .flag("--brief", options->brief, "Leave out the modules that agree.");
  command.example("sightline diff mine.safetensors reference.safetensors", "every module in both")
      .example("sightline diff before.safetensors after.safetensors --brief --tolerance 0",
               "where two runs part, to the bit")
      .action([options](Output& output) { return diff(*options, output); });
  return command;
}

}  // namespace sightline::cli
