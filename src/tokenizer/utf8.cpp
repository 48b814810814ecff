// Steps through UTF-8 after table 3-7 of the Unicode Standard.
#include "tokenizer/utf8.hpp"

#include <cstring>

namespace sightline::tokenizer {
namespace {

// First byte of a character: its length, and the range that the second byte must lie in.
struct Lead {
  std::size_t length;
  unsigned char low, high;
};

constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, std::size_t position) noexcept {
  const Lead lead = lead_of(static_cast<unsigned char>(text[position]));
  if (lead.length <= 1) return {lead.length == 1 ? Utf8::character : Utf8::invalid, 1};
  for (std::size_t k = 1; k < lead.length; ++k) {
    if (position + k == text.size()) return {Utf8::incomplete, k};
    const auto byte = static_cast<unsigned char>(text[position + k]);
    const unsigned char low = k == 1 ? lead.low : 0x80;
    const unsigned char high = k == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {Utf8::invalid, k};
  }
  return {Utf8::character, lead.length};
}

char32_t utf8_code_point(std::string_view text, std::size_t position) noexcept {
  const auto byte = [&](std::size_t k) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[position + k]));
  };
  const auto tail = [&](std::size_t k) { return byte(k) & 0x3F; };
  const char32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xE0) return (first & 0x1F) << 6 | tail(1);
  if (first < 0xF0) return (first & 0x0F) << 12 | tail(1) << 6 | tail(2);
  return (first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out += static_cast<char>(value); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  std::size_t i = 0;
  while (i < text.size()) {
    std::uint64_t word = 0;
    if (i + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & kHighBits) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const Utf8Step step = utf8_step(text, i);
    if (step.kind != Utf8::character) return i;
    i += step.length;
  }
  return std::nullopt;
}

}  // namespace sightline::tokenizer
