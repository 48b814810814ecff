// Frames that are pictures (readers.hpp).
#include <fmt/format.h>

#include <utility>

#include "image/decode.hpp"
#include "sightline/error.hpp"
#include "video/codes.hpp"
#include "video/readers.hpp"

namespace sightline::video {
namespace {

class PictureClip final : public FrameReader {
 public:
  PictureClip(std::vector<FramePicture> pictures, const std::string& name,
              const image::DecodeOptions& options)
      : pictures_(std::move(pictures)), options_(options) {
    if (pictures_.empty()) {
      throw Error(kInvalidVideo,
                  fmt::format("{}: expected frame pictures (PNG, JPEG, WebP, GIF, TIFF or BMP), "
                              "found none",
                              name),
                  {{"file", name}});
    }
    first_ = decode(0);
    facts_.format = fmt::format("frames ({})", image::format_name(first_.report.format));
    facts_.frames = static_cast<std::int64_t>(pictures_.size());
    facts_.extracted = true;
    facts_.width = first_.image.width;
    facts_.height = first_.image.height;
  }

  image::Image frame(std::int64_t index) override {
    if (index == 0) return first_.image;
    image::Decoded decoded = decode(index);
    if (decoded.image.width != facts_.width || decoded.image.height != facts_.height) {
      const std::string& name = pictures_[static_cast<std::size_t>(index)].name;
      throw Error(
          kInvalidVideo,
          fmt::format("{}: expected {}x{} pixels, the size of the clip's first frame, found "
                      "{}x{}",
                      name, facts_.width, facts_.height, decoded.image.width, decoded.image.height),
          {{"file", name}});
    }
    for (const std::string& warning : decoded.report.warnings) note(warning);
    return std::move(decoded.image);
  }

 private:
  [[nodiscard]] image::Decoded decode(std::int64_t index) const {
    const FramePicture& picture = pictures_[static_cast<std::size_t>(index)];
    return picture.bytes.empty() ? image::decode_file(picture.name, options_)
                                 : image::decode(picture.bytes, picture.name, options_);
  }

  std::vector<FramePicture> pictures_;
  image::DecodeOptions options_;
  image::Decoded first_;
};

}  // namespace

std::unique_ptr<FrameReader> read_pictures(std::vector<FramePicture> pictures,
                                           const std::string& name,
                                           const image::DecodeOptions& options) {
  return std::make_unique<PictureClip>(std::move(pictures), name, options);
}

}  // namespace sightline::video
