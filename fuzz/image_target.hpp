// What all image fuzz targets do: bytes of one format are a whole picture, or an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "image/decode.hpp"
#include "image/sniff.hpp"
#include "sightline/error.hpp"

namespace sightline::image {

/// Decodes `data` under both alpha rules if it starts like `format`; aborts when pixels and size
/// contradict.
inline int fuzz_format(Format format, const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kMaxPixels = 200'000;  // keeps one run short
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (sniff(bytes) != format) return 0;
  for (const Alpha alpha : {Alpha::white, Alpha::drop}) {
    try {
      const Decoded decoded = decode(bytes, "fuzz", {.max_pixels = kMaxPixels, .alpha = alpha});
      const Image& image = decoded.image;
      const bool sound =
          image.width > 0 && image.height > 0 && image.width * image.height <= kMaxPixels &&
          image.rgb.size() == static_cast<std::size_t>(image.width * image.height * 3);
      if (!sound) std::abort();
    } catch (const Error& error) {
      if (error.code() == Code::internal) std::abort();
    }
  }
  return 0;
}

}  // namespace sightline::image
