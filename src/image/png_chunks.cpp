// A bounds-checked walk over PNG chunks (PNG specification, section 5; APNG: acTL and fcTL; XMP in
// iTXt).
#include "image/png_chunks.hpp"

#include <algorithm>

#include "image/exif.hpp"

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kSignature = 8, kChunkHeader = 8, kChunkCheck = 4;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

// The text of an iTXt chunk with the XMP keyword, as far as it is not compressed.
std::string_view xmp_text(std::string_view body) {
  constexpr auto kKeyword = "XML:com.adobe.xmp\0\0\0"sv;  // keyword, not compressed, method 0
  return body.starts_with(kKeyword) ? body.substr(kKeyword.size()) : std::string_view{};
}

}  // namespace

PngExtras read_png_extras(std::string_view file) noexcept {
  int from_exif = 0, from_xmp = 0;
  std::int64_t frames = 0;
  bool in_pixels = false, first_is_frame = false;
  std::string_view rest = file.substr(std::min(kSignature, file.size()));
  while (rest.size() >= kChunkHeader) {
    const std::size_t length = big_endian(rest);
    const std::string_view name = rest.substr(4, 4);
    if (length > rest.size() - kChunkHeader) break;
    const std::string_view body = rest.substr(kChunkHeader, length);
    if (name == "IDAT") in_pixels = true;
    if (name == "eXIf" && from_exif == 0) from_exif = exif_orientation(body);
    if (name == "iTXt" && from_xmp == 0) from_xmp = xmp_orientation(xmp_text(body));
    if (name == "acTL" && !in_pixels && length >= 4) frames = big_endian(body);
    if (name == "fcTL" && !in_pixels) first_is_frame = true;
    rest.remove_prefix(std::min(kChunkHeader + length + kChunkCheck, rest.size()));
  }
  const int orientation = from_exif != 0 ? from_exif : from_xmp;
  return {orientation == 0 ? 1 : orientation,
          std::max<std::int64_t>(frames - (first_is_frame ? 1 : 0), 0)};
}

}  // namespace sightline::image
