// What a codec file sees: the bytes, a canvas that takes rows from the top, and two ways to fail.
// Private to image/. A codec reads the header, calls Canvas::start (which checks the declared size)
// before it allocates anything that depends on the size, then hands over every row. Memory of the
// canvas grows with the rows that really arrive.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "image/decode.hpp"

namespace sightline::image {

/// One encoded picture on its way through a codec.
struct Source {
  std::string_view bytes;
  std::string name;
  Format format;
};

/// Throws Error(invalid_image): the file is damaged; `detail` is what the codec says.
[[noreturn]] void fail_corrupt(const Source& source, const std::string& detail);
/// Throws Error(unsupported_image_format): the file may be sound, but uses something that is not
/// read.
[[noreturn]] void fail_unsupported(const Source& source, const std::string& feature);

/// Bytes of a pixel row handed to a canvas, 8 bits a sample; the value is the number of channels.
enum class Layout : std::uint8_t { grey = 1, grey_alpha = 2, rgb = 3, rgba = 4 };

/// The RGB picture being built, and the report about it.
class Canvas {
 public:
  Canvas(const Source& source, const DecodeOptions& options);

  /// Declares the stored size; throws Error(invalid_image) for an empty picture,
  /// Error(image_too_large).
  void start(std::int64_t width, std::int64_t height);
  /// Appends the next row, width() pixels of `layout`, applying the alpha rule. Polls.
  void add_row(const std::uint8_t* pixels, Layout layout);

  [[nodiscard]] bool cancelled() const noexcept {
    return options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed);
  }
  /// Throws Error(cancelled) once the decoding has been cancelled.
  void poll() const;

  [[nodiscard]] std::int64_t width() const noexcept { return image_.width; }
  [[nodiscard]] std::int64_t height() const noexcept { return image_.height; }
  [[nodiscard]] DecodeReport& report() noexcept { return report_; }
  [[nodiscard]] std::int64_t max_pixels() const noexcept { return options_.max_pixels; }

  /// Keeps the first few different warnings of a codec.
  void warn(const std::string& message);
  /// The picture turned upright by report().orientation. All rows must have been added.
  Decoded finish();

 private:
  void blend_row(const std::uint8_t* pixels, int channels, std::uint8_t* out);
  void drop_row(const std::uint8_t* pixels, int channels, std::uint8_t* out);

  const Source& source_;
  DecodeOptions options_;
  Image image_;
  DecodeReport report_;
  // Colours under alpha 0, watched while alpha is dropped: do they differ among themselves?
  bool seen_hidden_ = false, hidden_differ_ = false;
  std::array<std::uint8_t, 3> hidden_{};
};

/// One colour channel from ink coverage and black, both as light (255: no ink): round(c * k / 255).
inline std::uint8_t multiply_255(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::uint8_t>((a * b + 127) / 255);
}

void decode_png(const Source& source, Canvas& canvas);
void decode_jpeg(const Source& source, Canvas& canvas);
void decode_webp(const Source& source, Canvas& canvas);
void decode_gif(const Source& source, Canvas& canvas);
void decode_tiff(const Source& source, Canvas& canvas);
void decode_bmp(const Source& source, Canvas& canvas);

}  // namespace sightline::image
