// Whole small files in and out; every error names the file and the reason. Large files are mapped (base/mmap.hpp).
#pragma once

#include <string>
#include <string_view>

namespace sightline::io {

/// Reads a whole regular file. Throws Error(file_not_found) or Error(file_unreadable).
std::string read_file(const std::string& path);

/// Writes a file so that it is either whole or absent: into a temporary neighbour first, then renamed.
/// Throws Error(file_unwritable).
void write_file(const std::string& path, std::string_view bytes);

/// True if the path names an existing regular file (after following links).
bool is_file(const std::string& path);

}  // namespace sightline::io
