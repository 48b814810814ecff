// The frames of an animated WebP file, one after the other, through libwebpdemux (FFmpeg of Debian
// 12 cannot decode them). Memory is that of two canvases. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/decode.hpp"

namespace sightline::image {

class WebpAnimation {
 public:
  /// Reads the headers of a file held in memory, which must outlive the object. `name` is what
  /// errors call it. Throws Error(invalid_image, image_too_large).
  WebpAnimation(std::string_view bytes, std::string name, const DecodeOptions& options);
  ~WebpAnimation();
  WebpAnimation(const WebpAnimation&) = delete;
  WebpAnimation& operator=(const WebpAnimation&) = delete;

  [[nodiscard]] std::int64_t width() const noexcept;
  [[nodiscard]] std::int64_t height() const noexcept;
  /// When each complete frame ends, in milliseconds from the beginning.
  [[nodiscard]] const std::vector<std::int64_t>& ends() const noexcept;
  /// The file ends before its headers say; the frames before that are there.
  [[nodiscard]] bool is_cut() const noexcept;

  /// The next frame as it is shown, or nothing after the last one or where the data is damaged.
  std::optional<Image> next();
  /// next() begins with the first frame again.
  void rewind();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sightline::image
