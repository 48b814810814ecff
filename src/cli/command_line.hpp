// The command line: finds the command, reads its options, runs it, and turns whatever goes wrong
// into one line and an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "io/json.hpp"

namespace sightline::cli {

/// Exit codes without an error code of their own (exit_code() in sightline/error.hpp has the rest).
inline constexpr int kDone = 0, kCheckFailed = 1, kInternal = 70, kInterrupted = 130;

/// Runs `arguments` (without the program's name) and returns the exit code. Never throws.
int run_command_line(const std::vector<std::string>& arguments,
                     const std::vector<Command>& commands, Output& output);

/// Tells people (one line on standard error) or programs (with --json, an object on standard
/// output) what went wrong; returns the exit code.
int report_error(const Error& error, Output& output);

/// {"code", "message", "context"}.
io::Json error_body(const Error& error);
/// {"error": {"code", "message", "context"}}: one line of JSON.
std::string error_json(const Error& error);
/// "sightline: CODE: MESSAGE", one line.
std::string error_line(const Error& error);

}  // namespace sightline::cli
