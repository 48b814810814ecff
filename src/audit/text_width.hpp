// How wide text will be in a drawing, before anything draws it: by the advance widths of DejaVu
// Sans, which is among the widest of common sans-serif faces; what fits in it fits in the others.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sightline::audit {

/// Hundredths of the font size for the characters from blank to tilde.
inline constexpr std::array<std::uint8_t, 95> kPlainWidths{
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
inline constexpr std::array<std::uint8_t, 95> kBoldWidths{
    35, 46,  52, 84, 70, 100, 87, 31,  46, 46, 52, 84, 38, 42,  38, 37, 70, 70,  70,
    70, 70,  70, 70, 70, 70,  70, 40,  40, 84, 84, 84, 58, 100, 77, 76, 73, 83,  68,
    68, 82,  84, 37, 37, 77,  64, 100, 84, 85, 73, 85, 77, 72,  68, 81, 77, 110, 77,
    72, 73,  46, 37, 46, 84,  50, 50,  67, 72, 59, 72, 68, 44,  72, 71, 34, 34,  67,
    34, 104, 71, 69, 72, 72,  49, 60,  48, 71, 65, 92, 65, 65,  58, 71, 37, 71,  84};

/// Width of UTF-8 text in units of the font size; characters beyond ASCII count as square.
constexpr double text_width(std::string_view text, bool bold) {
  double hundredths = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // inside a character
    const bool known = byte >= ' ' && byte <= '~';
    const std::size_t place = known ? byte - static_cast<std::size_t>(' ') : 0;
    hundredths += known ? (bold ? kBoldWidths : kPlainWidths)[place] : 100.0;
  }
  return hundredths / 100;
}

}  // namespace sightline::audit
