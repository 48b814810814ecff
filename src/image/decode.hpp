// Encoded pictures to RGB: recognises the format by content, checks the declared size, calls one
// codec, applies the orientation. Codecs live one per file (jpeg.cpp, png.cpp, …) behind codec.hpp.
// Pure functions, safe to call from any number of threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image/image.hpp"

namespace sightline::image {

/// The formats that can be read.
enum class Format : std::uint8_t { png, jpeg, webp, gif, tiff, bmp };

/// "PNG", "JPEG", "WebP", "GIF", "TIFF" or "BMP".
const char* format_name(Format format) noexcept;

/// Default of DecodeOptions::max_pixels: larger pictures are refused before anything is allocated.
inline constexpr std::int64_t kDefaultMaxPixels = 100'000'000;

struct DecodeOptions {
  std::int64_t max_pixels =
      kDefaultMaxPixels;  ///< limit of width * height as the file declares them
  Alpha alpha = Alpha::white;
  /// Once set (from any thread), decoding ends with Error(cancelled) at the next row. What a
  /// library decodes in one call, a WebP picture or a strip of a TIFF, comes to its end first.
  const std::atomic<bool>* cancelled = nullptr;
};

/// What was found in the file besides the pixels.
struct DecodeReport {
  Format format = Format::png;
  int orientation = 1;  ///< EXIF orientation 1..8 that has been applied; 1: stored upright
  std::int64_t frames_ignored = 0;  ///< further frames of an animation, or pages
  bool had_alpha = false;  ///< the file can store transparency (alpha channel, transparent colour)
  std::vector<std::string> warnings;
};

struct Decoded {
  Image image;  ///< upright
  DecodeReport report;
};

/// Decodes a picture held in memory; `name` is what errors call it (a path, "message 2, picture 1",
/// …). Throws Error(unsupported_image_format, invalid_image, image_too_large, memory_limit,
/// cancelled). Source of every conversion: specification section 2.1.
Decoded decode(std::string_view bytes, const std::string& name, const DecodeOptions& options = {});

/// decode() of a file. Also throws Error(file_not_found, file_unreadable).
Decoded decode_file(const std::string& path, const DecodeOptions& options = {});

}  // namespace sightline::image
