// UTF-8, one step at a time: the only place of this layer that knows the encoding's rules.
// Pure functions over bytes; no dependency beyond the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sightline::tokenizer {

/// What UTF-8 text shows at one position.
enum class Utf8 : std::uint8_t {
  character,   ///< a whole valid character
  invalid,     ///< bytes that no continuation can make valid
  incomplete,  ///< the text ends inside a character that is valid so far
};

/// One step through text: its kind and the number of bytes that it takes (at least 1).
struct Utf8Step {
  Utf8 kind;
  std::size_t length;
};

/// Classifies the bytes at text[position] (position < size). An invalid step covers the maximal
/// subpart that one U+FFFD replaces. Source: the Unicode Standard, table 3-7 and "U+FFFD
/// Substitution of Maximal Subparts"; Rust's String::from_utf8_lossy does the same.
Utf8Step utf8_step(std::string_view text, std::size_t position) noexcept;

/// The code point of the valid character at text[position].
char32_t utf8_code_point(std::string_view text, std::size_t position) noexcept;

/// Appends a code point (a Unicode scalar value) as UTF-8.
void append_utf8(std::string& out, char32_t code_point);

/// Offset of the first byte that is not part of a valid character; nothing if all are valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

/// U+FFFD, what stands for bytes that are no text.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace sightline::tokenizer
