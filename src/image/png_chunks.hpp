// What PNG files say beside the pixels, read straight from their chunks: orientation and animation.
// Pure, no library.
#pragma once

#include <cstdint>
#include <string_view>

namespace sightline::image {

struct PngExtras {
  int orientation = 1;  ///< of eXIf, else of an uncompressed XMP packet
  std::int64_t frames_ignored =
      0;  ///< frames of an APNG besides the picture that every decoder shows
};

/// Walks over the chunks of a PNG file; stops where they make no sense. Never fails.
PngExtras read_png_extras(std::string_view file) noexcept;

}  // namespace sightline::image
