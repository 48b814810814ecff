// How a fault in tokenizer.json is reported: always file, path inside it, expected, found.
// Throws sightline::Error through io/json.hpp's one wording; nothing else.
#pragma once

#include <string>
#include <string_view>

namespace sightline::tokenizer {

/// Throws Error(invalid_tokenizer) "FILE: PATH: expected EXPECTED, found FOUND".
[[noreturn]] void fail_file(const std::string& file, const std::string& path,
                            const std::string& expected, const std::string& found);

/// A string of the file for a message: quoted, control characters escaped, cut when long.
std::string quoted(std::string_view text);

}  // namespace sightline::tokenizer
