// The list of commands.
#include "cli/commands.hpp"

namespace sightline::cli {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(run_command());
  commands.push_back(chat_command());
  commands.push_back(prompt_command());
  commands.push_back(tokenize_command());
  commands.push_back(render_command());
  commands.push_back(pixels_command());
  commands.push_back(calc_command());
  commands.push_back(parity_command());
  commands.push_back(trace_command());
  commands.push_back(merge_command());
  commands.push_back(hidden_command());
  commands.push_back(diff_command());
  commands.push_back(inspect_command());
  commands.push_back(graph_command());
  commands.push_back(source_command());
  commands.push_back(plan_command());
  commands.push_back(bench_command());
  commands.push_back(quantize_command());
  commands.push_back(synth_command());
  commands.push_back(models_command());
  commands.push_back(version_command());
  return commands;
}

}  // namespace sightline::cli
