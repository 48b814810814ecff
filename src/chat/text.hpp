// Strings of the template interpreter: bytes (UTF-8) plus the origin of every byte, kept as runs
// because most strings come from one place. Also what Python knows about characters: white space,
// letter case, counting in code points. Text is a value type; every operation is a slice or a
// concatenation of bytes and origins together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.hpp"

namespace sightline::chat {

/// UTF-8 bytes with one origin per byte, stored as runs of equal origin.
class Text {
 public:
  Text() = default;
  explicit Text(std::string_view bytes, Origin origin = kTemplateOrigin) { append(bytes, origin); }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t run_count() const noexcept { return runs_.size(); }

  void append(std::string_view bytes, Origin origin);
  void append(const Text& other) { append(other, 0, other.size()); }
  /// Appends bytes [begin, end) of `other` with their origins.
  void append(const Text& other, std::size_t begin, std::size_t end);
  /// Bytes [begin, end) with their origins.
  [[nodiscard]] Text slice(std::size_t begin, std::size_t end) const;
  /// Origin of the byte at `offset`, which must exist.
  [[nodiscard]] Origin origin_at(std::size_t offset) const;
  /// The first origin that is not the template's, or the template's: what a number or a bool read
  /// from this text inherits.
  [[nodiscard]] Origin taint() const;
  /// Appends everything to `out` (bytes and one origin per byte).
  void write_to(SourceText& out) const;

 private:
  struct Run {
    std::size_t end;
    Origin origin;
  };
  [[nodiscard]] std::size_t run_at(std::size_t offset) const;

  std::string bytes_;
  std::vector<Run> runs_;  // ascending ends; neighbours differ in origin
};

/// Bytes of the character that starts at text[i] (1 when the bytes there are not UTF-8); i <
/// text.size().
std::size_t char_size(std::string_view text, std::size_t i) noexcept;
/// The character that starts at text[i]; i < text.size().
char32_t char_at(std::string_view text, std::size_t i) noexcept;
/// Start of the character that ends before text[i]; i > 0.
std::size_t char_before(std::string_view text, std::size_t i) noexcept;
/// Number of characters (Python's len of a str).
std::size_t count_chars(std::string_view text) noexcept;
/// Byte offset of the character with this index, text.size() when there are fewer.
std::size_t char_offset(std::string_view text, std::size_t index) noexcept;
/// UTF-8 of one code point.
std::string encode_char(char32_t c);
/// Byte offset of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text) noexcept;

/// Python's str.isspace for one character.
bool is_space(char32_t c) noexcept;
/// [first, last) without white space (or without the characters of `chars`, when given) at the
/// wanted ends.
struct Trim {
  bool left = true;
  bool right = true;
  const std::string* chars = nullptr;  ///< nullptr: white space
};
struct Range {
  std::size_t begin;
  std::size_t end;
};
Range trim_range(std::string_view text, const Trim& trim) noexcept;

/// Letter case of Latin, Greek and Cyrillic characters (others are returned as they are). Source:
/// the regular blocks of the Unicode character database.
char32_t to_upper(char32_t c) noexcept;
char32_t to_lower(char32_t c) noexcept;
/// Whether the character has case or is a letter or digit, as far as the same blocks go.
bool is_alpha(char32_t c) noexcept;
bool is_digit(char32_t c) noexcept;

}  // namespace sightline::chat
