// The commands of the binary, one file each; all_commands() lists them in the order of the help
// page.
#pragma once

#include <vector>

#include "cli/command.hpp"

namespace sightline::cli {

Command run_command();
Command chat_command();
Command prompt_command();
Command tokenize_command();
Command render_command();
Command pixels_command();
Command calc_command();
Command parity_command();
Command trace_command();
Command merge_command();
Command hidden_command();
Command diff_command();
Command inspect_command();
Command graph_command();
Command source_command();
Command bench_command();
Command plan_command();
Command quantize_command();
Command synth_command();
Command models_command();
Command version_command();

/// Every command, in the order of the help page.
std::vector<Command> all_commands();

}  // namespace sightline::cli
