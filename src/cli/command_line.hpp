// The command line: finds the command, reads its options, runs it, and turns whatever goes wrong
// into one line and an exit code. The only user of CLI11 is command_line.cpp.
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

/// True if --json stands among the arguments (before `--`): known before anything is parsed, so
/// that a wrong option is reported in the form that was asked for.
bool asks_for_json(const std::vector<std::string>& arguments);

/// Tells people (one line on standard error) or programs (with --json, an object on standard
/// output) what went wrong; returns the exit code.
int report_error(const Error& error, Output& output);

/// {"code", "message", "context"}.
io::Json error_body(const Error& error);
/// {"error": {"code", "message", "context"}}: one line of JSON.
std::string error_json(const Error& error);
/// "sightline: CODE: MESSAGE", one line.
std::string error_line(const Error& error);

/// The word of `words` that `typed` is probably meant to be, or empty.
std::string closest_word(const std::string& typed, const std::vector<std::string>& words);

}  // namespace sightline::cli
