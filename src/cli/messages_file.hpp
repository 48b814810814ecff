// A file that holds a conversation (docs/messages.md), read and written by commands.
#pragma once

#include <string>

#include "cli/output.hpp"
#include "io/json.hpp"

namespace sightline::cli {

/// The list of messages in a file: a JSON list, or the member "messages" of an object; `-` reads
/// standard input. Throws Error(invalid_json, invalid_messages) naming the file.
io::Json read_message_list(const std::string& file, Output& output);

/// The text of a JSON list of tool definitions. Throws Error(invalid_json, invalid_messages) naming
/// the file.
std::string read_tools(const std::string& file);

/// The folder that relative paths in the file are relative to; "" (the process's) for `-`.
std::string directory_of(const std::string& file);

/// Makes relative picture and video paths of messages absolute, so that the messages may be written
/// to another folder. URLs and what is no path stay as they are.
void make_paths_absolute(io::Json& messages, const std::string& directory);

}  // namespace sightline::cli
