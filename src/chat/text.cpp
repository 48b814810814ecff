// Text with origin runs, and the character facts behind Python's string methods.
#include "chat/text.hpp"

#include <algorithm>

namespace sightline::chat {

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  for (std::size_t run = begin < end ? other.run_at(begin) : 0; begin < end; ++run) {
    const std::size_t stop = std::min(end, other.runs_[run].end);
    append(std::string_view(other.bytes_).substr(begin, stop - begin), other.runs_[run].origin);
    begin = stop;
  }
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

std::size_t Text::run_at(std::size_t offset) const {
  const auto it = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                   [](std::size_t at, const Run& run) { return at < run.end; });
  return static_cast<std::size_t>(it - runs_.begin());
}

Origin Text::origin_at(std::size_t offset) const { return runs_[run_at(offset)].origin; }

Origin Text::taint() const {
  for (const Run& run : runs_) {
    if (run.origin != kTemplateOrigin) return run.origin;
  }
  return kTemplateOrigin;
}

void Text::write_to(SourceText& out) const {
  std::size_t begin = 0;
  for (const Run& run : runs_) {
    out.append(std::string_view(bytes_).substr(begin, run.end - begin), run.origin);
    begin = run.end;
  }
}

std::size_t char_size(std::string_view text, std::size_t i) noexcept {
  const auto lead = static_cast<unsigned char>(text[i]);
  const std::size_t size = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size > text.size() - i) return 1;
  for (std::size_t k = 1; k < size; ++k) {
    if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 1;
  }
  return size;
}

char32_t char_at(std::string_view text, std::size_t i) noexcept {
  const std::size_t size = char_size(text, i);
  const auto lead = static_cast<unsigned char>(text[i]);
  if (size == 1) return lead;
  char32_t c = lead & (0xFFU >> (size + 1));
  for (std::size_t k = 1; k < size; ++k)
    c = (c << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
  return c;
}

std::size_t char_before(std::string_view text, std::size_t i) noexcept {
  for (std::size_t back = 1; back <= 4 && back <= i; ++back) {
    if ((static_cast<unsigned char>(text[i - back]) & 0xC0) != 0x80) {
      return char_size(text, i - back) == back ? i - back : i - 1;
    }
  }
  return i - 1;
}

std::size_t count_chars(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += char_size(text, i)) ++count;
  return count;
}

std::size_t char_offset(std::string_view text, std::size_t index) noexcept {
  std::size_t i = 0;
  while (index > 0 && i < text.size()) {
    i += char_size(text, i);
    --index;
  }
  return i;
}

std::string encode_char(char32_t c) {
  const auto byte = [](char32_t value) {
    return static_cast<char>(static_cast<unsigned char>(value));
  };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | (c >> 6U)), byte(0x80 | (c & 0x3FU))};
  if (c < 0x10000)
    return {byte(0xE0 | (c >> 12U)), byte(0x80 | ((c >> 6U) & 0x3FU)), byte(0x80 | (c & 0x3FU))};
  return {byte(0xF0 | (c >> 18U)), byte(0x80 | ((c >> 12U) & 0x3FU)),
          byte(0x80 | ((c >> 6U) & 0x3FU)), byte(0x80 | (c & 0x3FU))};
}

std::size_t find_invalid_utf8(std::string_view text) noexcept {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = char_size(text, i);
    const char32_t c = char_at(text, i);
    const bool stray = size == 1 && static_cast<unsigned char>(text[i]) >= 0x80;
    if (stray || c < kLeast[size] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return i;
    i += size;
  }
  return std::string_view::npos;
}

bool is_space(char32_t c) noexcept {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Range trim_range(std::string_view text, const Trim& trim) noexcept {
  const auto drops = [&](std::size_t i, std::size_t size) {
    if (trim.chars == nullptr) return is_space(char_at(text, i));
    return trim.chars->find(text.substr(i, size)) != std::string::npos;
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (trim.left && begin < end && drops(begin, char_size(text, begin)))
    begin += char_size(text, begin);
  while (trim.right && begin < end) {
    const std::size_t last = char_before(text, end);
    if (!drops(last, end - last)) break;
    end = last;
  }
  return {begin, end};
}

namespace {

bool between(char32_t c, char32_t first, char32_t last) noexcept { return c >= first && c <= last; }

// Blocks in which upper and lower case alternate, upper case on even code points (true) or odd ones
// (false).
bool alternates(char32_t c, bool& upper_even) noexcept {
  upper_even = !between(c, 0x139, 0x148) && !between(c, 0x179, 0x17E);
  if (c == 0x130 || c == 0x131 || c == 0x138 || c == 0x149 || c == 0x178) return false;
  return between(c, 0x100, 0x17E) || between(c, 0x1E00, 0x1E95) || between(c, 0x460, 0x481) ||
         between(c, 0x48A, 0x4BF) || between(c, 0x4D0, 0x52F);
}

}  // namespace

char32_t to_upper(char32_t c) noexcept {
  bool upper_even = true;
  if (between(c, 'a', 'z')) return c - 32;
  if (c == 0xB5) return 0x39C;
  if (c == 0xFF) return 0x178;
  if (between(c, 0xE0, 0xFE) && c != 0xF7) return c - 32;
  if (alternates(c, upper_even)) return ((c % 2 == 0) == upper_even) ? c : c - 1;
  if (c == 0x3C2) return 0x3A3;
  if (between(c, 0x3B1, 0x3CB)) return c - 32;
  if (c == 0x3AC) return 0x386;
  if (between(c, 0x3AD, 0x3AF)) return c - 37;
  if (between(c, 0x430, 0x44F)) return c - 32;
  if (between(c, 0x450, 0x45F)) return c - 80;
  return c;
}

char32_t to_lower(char32_t c) noexcept {
  bool upper_even = true;
  if (between(c, 'A', 'Z')) return c + 32;
  if (between(c, 0xC0, 0xDE) && c != 0xD7) return c + 32;
  if (c == 0x178) return 0xFF;
  if (alternates(c, upper_even)) return ((c % 2 == 0) == upper_even) ? c + 1 : c;
  if (between(c, 0x391, 0x3AB) && c != 0x3A2) return c + 32;
  if (c == 0x386) return 0x3AC;
  if (between(c, 0x388, 0x38A)) return c + 37;
  if (between(c, 0x410, 0x42F)) return c + 32;
  if (between(c, 0x400, 0x40F)) return c + 80;
  return c;
}

bool is_digit(char32_t c) noexcept { return between(c, '0', '9'); }

bool is_alpha(char32_t c) noexcept {
  if (c < 0x80) return between(c | 0x20U, 'a', 'z');
  // Letters of the scripts that chat text uses most: Latin, Greek, Cyrillic, Hebrew, Arabic,
  // Devanagari, kana, Han, Hangul.
  return c == 0xAA || c == 0xB5 || c == 0xBA ||
         (between(c, 0xC0, 0x24F) && c != 0xD7 && c != 0xF7) || between(c, 0x386, 0x52F) ||
         between(c, 0x5D0, 0x5EA) || between(c, 0x620, 0x64A) || between(c, 0x904, 0x939) ||
         between(c, 0x1E00, 0x1FFC) || between(c, 0x3041, 0x3096) || between(c, 0x30A1, 0x30FA) ||
         between(c, 0x3400, 0x4DBF) || between(c, 0x4E00, 0x9FFF) || between(c, 0xAC00, 0xD7A3);
}

}  // namespace sightline::chat
