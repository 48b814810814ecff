// The check is one pass over the pattern; the stand-ins are one table.
#include "tokenizer/pattern.hpp"

#include <algorithm>
#include <array>

#include "tokenizer/file_fault.hpp"
#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {
namespace {

using namespace std::string_view_literals;

constexpr bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads a pattern from left to right and refuses what it does not know.
class PatternCheck {
 public:
  PatternCheck(std::string_view pattern, const std::string& file, const std::string& path)
      : pattern_(pattern), file_(file), path_(path) {}

  void run() {
    while (!done()) {
      const char c = peek();
      if (c == '\\') {
        escape();
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        counted();
      } else if (is_one_of(c, "*+?")) {
        ++at_;
        skip_one_of("?+");
      } else if (is_one_of(c, "|)")) {
        ++at_;
      } else {
        literal(".^$]}");
      }
    }
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= pattern_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : pattern_[at_]; }
  [[nodiscard]] bool skip(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  void skip_one_of(std::string_view set) {
    if (!done() && is_one_of(peek(), set)) ++at_;
  }

  [[noreturn]] void refuse(std::size_t from) const {
    constexpr std::size_t kShown = 12;
    fail_file(file_, path_,
              "a pattern of literals, groups, classes, \\s, \\p{L}, \\p{M} and \\p{N}",
              quoted(pattern_.substr(from, kShown)) + " at byte " + std::to_string(from));
  }

  void literal(std::string_view forbidden) {
    const char c = peek();
    if (c < ' ' || c > '~' || is_one_of(c, forbidden)) refuse(at_);
    ++at_;
  }

  void escape() {
    const std::size_t from = at_++;
    if (skip("p{L}") || skip("p{M}") || skip("p{N}")) return;
    if (skip("P{L}") || skip("P{M}") || skip("P{N}")) return;
    const char c = peek();
    const bool punctuation = c > ' ' && c <= '~' && !is_digit(c) &&
                             !is_one_of(static_cast<char>(c | 0x20), "abcdefghijklmnopqrstuvwxyz");
    if (!punctuation && !is_one_of(c, "rntsS")) refuse(from);
    ++at_;
  }

  void character_class() {
    const std::size_t from = at_++;
    skip_one_of("^");
    if (peek() == ']') refuse(from);
    while (peek() != ']') {
      if (done() || pattern_.substr(at_).starts_with("&&")) refuse(from);
      if (peek() == '\\') {
        escape();
      } else {
        literal("[");
      }
    }
    ++at_;
  }

  void group() {
    constexpr std::array kKinds = {"(?:"sv, "(?i:"sv, "(?="sv, "(?!"sv, "(?<="sv, "(?<!"sv};
    const std::size_t from = at_;
    for (const std::string_view kind : kKinds) {
      if (skip(kind)) return;
    }
    ++at_;
    if (is_one_of(peek(), "?*")) refuse(from);
  }

  // {n}, {n,}, {n,m}; a ? or + after it means different things to the two engines.
  void counted() {
    const std::size_t from = at_++;
    if (!is_digit(peek())) refuse(from);
    while (is_digit(peek())) ++at_;
    skip_one_of(",");
    while (is_digit(peek())) ++at_;
    if (peek() != '}') refuse(from);
    ++at_;
    if (is_one_of(peek(), "?+")) refuse(from);
  }

  std::string_view pattern_;
  const std::string& file_;
  const std::string& path_;
  std::size_t at_ = 0;
};

enum Kind : unsigned char { kLetter, kMark, kNumber, kOther };

struct Difference {
  char32_t first, last;
  Kind kind;  // what the reference sees
};

// Letters, marks and numbers of Unicode 15, 15.1 and 16, which PCRE2 10.42 (Unicode 14) does not
// know, and U+180E, which PCRE2 counts as white space. Found by running both engines over all code
// points.
constexpr std::array kDifferences = std::to_array<Difference>({
    {0x897, 0x897, kMark},       {0xCF3, 0xCF3, kMark},       {0xECE, 0xECE, kMark},
    {0x180E, 0x180E, kOther},    {0x1C89, 0x1C8A, kLetter},   {0xA7CB, 0xA7CD, kLetter},
    {0xA7DA, 0xA7DC, kLetter},   {0x105C0, 0x105F3, kLetter}, {0x10D40, 0x10D49, kNumber},
    {0x10D4A, 0x10D65, kLetter}, {0x10D69, 0x10D6D, kMark},   {0x10D6F, 0x10D85, kLetter},
    {0x10EC2, 0x10EC4, kLetter}, {0x10EFC, 0x10EFF, kMark},   {0x1123F, 0x11240, kLetter},
    {0x11241, 0x11241, kMark},   {0x11380, 0x11389, kLetter}, {0x1138B, 0x1138B, kLetter},
    {0x1138E, 0x1138E, kLetter}, {0x11390, 0x113B5, kLetter}, {0x113B7, 0x113B7, kLetter},
    {0x113B8, 0x113C0, kMark},   {0x113C2, 0x113C2, kMark},   {0x113C5, 0x113C5, kMark},
    {0x113C7, 0x113CA, kMark},   {0x113CC, 0x113D0, kMark},   {0x113D1, 0x113D1, kLetter},
    {0x113D2, 0x113D2, kMark},   {0x113D3, 0x113D3, kLetter}, {0x113E1, 0x113E2, kMark},
    {0x116D0, 0x116E3, kNumber}, {0x11BC0, 0x11BE0, kLetter}, {0x11BF0, 0x11BF9, kNumber},
    {0x11F00, 0x11F01, kMark},   {0x11F02, 0x11F02, kLetter}, {0x11F03, 0x11F03, kMark},
    {0x11F04, 0x11F10, kLetter}, {0x11F12, 0x11F33, kLetter}, {0x11F34, 0x11F3A, kMark},
    {0x11F3E, 0x11F42, kMark},   {0x11F50, 0x11F59, kNumber}, {0x11F5A, 0x11F5A, kMark},
    {0x1342F, 0x1342F, kLetter}, {0x13440, 0x13440, kMark},   {0x13441, 0x13446, kLetter},
    {0x13447, 0x13455, kMark},   {0x13460, 0x143FA, kLetter}, {0x16100, 0x1611D, kLetter},
    {0x1611E, 0x1612F, kMark},   {0x16130, 0x16139, kNumber}, {0x16D40, 0x16D6C, kLetter},
    {0x16D70, 0x16D79, kNumber}, {0x18CFF, 0x18CFF, kLetter}, {0x1B132, 0x1B132, kLetter},
    {0x1B155, 0x1B155, kLetter}, {0x1CCF0, 0x1CCF9, kNumber}, {0x1D2C0, 0x1D2D3, kNumber},
    {0x1DF25, 0x1DF2A, kLetter}, {0x1E030, 0x1E06D, kLetter}, {0x1E08F, 0x1E08F, kMark},
    {0x1E4D0, 0x1E4EB, kLetter}, {0x1E4EC, 0x1E4EF, kMark},   {0x1E4F0, 0x1E4F9, kNumber},
    {0x1E5D0, 0x1E5ED, kLetter}, {0x1E5EE, 0x1E5EF, kMark},   {0x1E5F0, 0x1E5F0, kLetter},
    {0x1E5F1, 0x1E5FA, kNumber}, {0x2B739, 0x2B739, kLetter}, {0x2EBF0, 0x2EE5D, kLetter},
    {0x31350, 0x323AF, kLetter},
});

// Stand-ins of three and of four bytes, of the same kind in every version of Unicode since 5.1.
constexpr std::string_view stand_in(Kind kind, std::size_t length) {
  switch (kind) {
    case kLetter:
      return length == 3 ? "\xE0\xA4\x84" : "\xF0\x90\x80\x80";  // U+0904, U+10000
    case kMark:
      return length == 3 ? "\xE0\xA4\x81" : "\xF0\x90\x87\xBD";  // U+0901, U+101FD
    case kNumber:
      return length == 3 ? "\xE0\xA5\xA6" : "\xF0\x90\x84\x87";  // U+0966, U+10107
    default:
      return length == 3 ? "\xE2\x81\xA0" : "\xF0\x9F\x80\x80";  // U+2060, U+1F000
  }
}

const Difference* find_difference(char32_t c) {
  const auto it = std::partition_point(kDifferences.begin(), kDifferences.end(),
                                       [&](const Difference& d) { return d.last < c; });
  return it != kDifferences.end() && it->first <= c ? &*it : nullptr;
}

}  // namespace

void check_pattern(std::string_view pattern, const std::string& file, const std::string& path) {
  PatternCheck(pattern, file, path).run();
}

std::string_view with_stand_ins(std::string_view text, std::string& buffer) {
  constexpr unsigned char kFirstLead = 0xE0;  // no difference below U+0800
  bool replaced = false;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < kFirstLead) {
      ++i;
      continue;
    }
    const std::size_t length = utf8_step(text, i).length;
    if (const Difference* difference = find_difference(utf8_code_point(text, i))) {
      if (!replaced) buffer.assign(text);
      replaced = true;
      buffer.replace(i, length, stand_in(difference->kind, length));
    }
    i += length;
  }
  return replaced ? std::string_view(buffer) : text;
}

}  // namespace sightline::tokenizer
