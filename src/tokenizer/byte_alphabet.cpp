// The alphabet's two tables, built once.
#include "tokenizer/byte_alphabet.hpp"

#include <array>
#include <cstdint>

#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kBytes = 256;

// Bytes that stand for themselves: the printable ones of Latin-1, without space and soft hyphen.
constexpr bool is_printable(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, kBytes> characters;
  std::array<std::int16_t, 2 * kBytes> bytes{};  // by code point; -1 outside the alphabet

  Alphabet() {
    bytes.fill(-1);
    char32_t next = kBytes;  // the others follow from U+0100 on, in order of their bytes
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      const char32_t code_point = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
      append_utf8(characters[byte], code_point);
      bytes[code_point] = static_cast<std::int16_t>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet kAlphabet;
  return kAlphabet;
}

}  // namespace

std::string_view byte_character(unsigned char byte) { return alphabet().characters[byte]; }

void append_piece_bytes(std::string& out, std::string_view piece) {
  const Alphabet& table = alphabet();
  const std::size_t before = out.size();
  out.resize(before + piece.size());  // bytes are never more than the piece has
  char* next = out.data() + before;
  for (std::size_t i = 0; i < piece.size();) {
    const auto first = static_cast<unsigned char>(piece[i]);
    // The alphabet lies below U+0200: characters of one or two bytes.
    const bool is_known = first < 0x80 || (first < 0xC8 && i + 1 < piece.size());
    const char32_t code_point = is_known ? utf8_code_point(piece, i) : 0;
    const int byte = is_known ? table.bytes[code_point] : -1;
    if (byte < 0) {
      out.replace(before, piece.size(), piece);
      return;
    }
    *next++ = static_cast<char>(byte);
    i += first < 0x80 ? 1 : 2;
  }
  out.resize(static_cast<std::size_t>(next - out.data()));
}

}  // namespace sightline::tokenizer
