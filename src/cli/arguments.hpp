// The words of a command line, read into what a command declares. Knows commands (command.hpp)
// and nothing of what they do.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace sightline::cli {

/// Reads the words after a command's name into its targets, in order. An option is written
/// `--name VALUE`, `--name=VALUE`, `-n VALUE` or `-nVALUE`; a word that begins with a dash and
/// neither a letter nor a second dash follows ("-", "-5 degrees") is an argument, and so is every
/// word after `--`. --json is accepted everywhere. Throws Error(usage) for unknown options, missing
/// or superfluous values and arguments, and what the targets throw.
void read_arguments(const Command& command, const std::vector<std::string>& words);

/// True if --json stands among the words (before `--`): known before anything is read, so that a
/// wrong option is reported in the form that was asked for.
bool asks_for_json(const std::vector<std::string>& words);

/// True if --help or -h stands among the words (before `--`).
bool asks_for_help(const std::vector<std::string>& words);

/// The word of `words` that `typed` is probably meant to be, or empty.
std::string closest_word(const std::string& typed, const std::vector<std::string>& words);

}  // namespace sightline::cli
