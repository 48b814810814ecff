// `sightline hidden`: the hidden states of vision tower, merger and language model side by side.
#include <fmt/format.h>

#include <memory>

#include "audit/checkpoint_report.hpp"
#include "audit/events.hpp"
#include "audit/hidden_states.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/traced_question.hpp"

namespace sightline::cli {
namespace {

using audit::HiddenState;

constexpr std::size_t kDigits = 12;  // of a hash; --json has all

std::string states_text(const std::vector<HiddenState>& states) {
  Table shapes(
      {{"tower"}, {"hidden state"}, {"from", false, true}, {"shape"}, {"width", true}, {"dtype"}});
  Table values({{"hidden state"},
                {"min", true},
                {"max", true},
                {"mean", true},
                {"std", true},
                {"l2", true},
                {"nan+inf", true},
                {"sha256"}});
  for (const HiddenState& state : states) {
    const std::string name = fmt::format("{} {}", state.tower, state.name);
    shapes.row({state.tower, state.name, state.from, audit::shape_text(state.shape),
                grouped(state.width()), std::string(audit::dtype_text(state.dtype))});
    const trace::Statistics& s = state.statistics;
    values.row({name, fmt::format("{:.4g}", s.min), fmt::format("{:.4g}", s.max),
                fmt::format("{:.4g}", s.mean), fmt::format("{:.4g}", s.std),
                fmt::format("{:.5g}", s.l2), std::to_string(s.non_finite),
                state.sha256.substr(0, kDigits)});
  }
  return shapes.text() + "\n" + values.text() + "\n";
}

std::string same_text(const std::vector<HiddenState>& states) {
  std::string text;
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t k = i + 1; k < states.size(); ++k) {
      if (!states[i].same_as(states[k])) continue;
      text += fmt::format("{} {} = {} {}: equal in every bit\n", states[i].tower, states[i].name,
                          states[k].tower, states[k].name);
    }
  }
  return text + fmt::format("a vision state and a language state are the same tensor: {}\n",
                            audit::towers_share_a_tensor(states) ? "True" : "False");
}

/// The element type in which transformers would return these states.
std::optional<DType> reference_dtype(const Engine& engine) {
  return audit::dtype_of_config(
      io::read_json_file(engine.info().directory + "/config.json", Code::invalid_config));
}

int hidden(const TracedQuestion& options, Output& output) {
  std::optional<audit::HiddenWatch> watch;
  const WatchedRun watched =
      run_watched(options, "hidden", output, [&](const model::ModelInfo& info) {
        watch.emplace(audit::module_tree(info.report));
        return std::vector<Trace*>{&*watch};
      });
  const std::vector<HiddenState> states = watch->states();
  const std::optional<DType> dtype = reference_dtype(watched.engine);
  if (output.json()) {
    io::Json document = audit::hidden_json(states);
    document.add("reference_dtype",
                 dtype ? io::Json(audit::dtype_text(*dtype)) : io::Json(nullptr));
    output.line(io::to_json_text(document));
  } else {
    output.write(states_text(states) + same_text(states));
    if (dtype) {
      output.line(fmt::format("kept in float32 between operations; transformers returns {}",
                              audit::dtype_text(*dtype)));
    }
  }
  return 0;
}

}  // namespace

Command hidden_command() {
  auto options = std::make_shared<TracedQuestion>();
  Command command("hidden", "hidden states of tower, merger and language model side by side");
  command.description(
      "Runs the prompt and shows the hidden states that are easily confused: what the vision tower "
      "ends with (before the merger), what the merger makes of it (pooler_output), and what the "
      "language model ends with; their shapes, widths, types and statistics, and which of them are "
      "the same tensor. Names are those of transformers' outputs.");
  add_traced_question(command, *options);
  command.example("sightline hidden demo -i photo.png \"What is this?\"", "all of them")
      .action([options](Output& output) { return hidden(*options, output); });
  return command;
}

}  // namespace sightline::cli
