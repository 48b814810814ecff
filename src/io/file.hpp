// Whole small files in and out; every error names the file and the reason. Large files are mapped
// (base/mmap.hpp). Free functions without state, usable from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sightline::io {

/// More than any file that is read whole (tokenizer.json: 20 MB, a clip: some 100 MB).
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

/// Reads a whole regular file, or a pipe to its end (one that nobody writes to is empty, not waited
/// for); devices and directories are refused. Throws Error(file_not_found), Error(file_unreadable),
/// or Error(file_too_large) beyond `max_bytes`.
std::string read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

/// Writes a file so that it is either whole or as before: into a temporary neighbour first, then
/// renamed. A device or pipe is written directly. Throws Error(file_unwritable).
void write_file(const std::string& path, std::string_view bytes);

/// True if the path names an existing regular file (after following links).
bool is_file(const std::string& path);
/// The same for a file that may be left out: anything else of that name is a mistake, and throws
/// Error(file_unreadable).
bool has_file(const std::string& path);

}  // namespace sightline::io
