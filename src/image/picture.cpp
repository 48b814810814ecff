// The size rules with errors that people can act on, and the steps of the image processor in order.
#include "image/picture.hpp"

#include <utility>

#include <fmt/format.h>

#include "image/resize.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

[[noreturn]] void fail_size(SizeStatus status, std::int64_t height, std::int64_t width,
                            const std::string& name) {
  const Error::Context context{
      {"file", name}, {"width", std::to_string(width)}, {"height", std::to_string(height)}};
  if (status == SizeStatus::aspect_ratio) {
    throw Error(
        Code::image_aspect_ratio,
        fmt::format(
            "{}: expected a longer side of at most {} times the shorter, found {}x{} pixels; "
            "crop or pad it",
            name, kMaxAspectRatio, width, height),
        context);
  }
  throw Error(
      Code::invalid_image,
      fmt::format("{}: expected sides of 1 to 2^31 pixels, found {}x{}", name, width, height),
      context);
}

Frames frames_of(const std::uint8_t* const& pixels, const Image& image) {
  return {{&pixels, 1}, image.height, image.width};
}

}  // namespace

TargetSize target_size(std::int64_t height, std::int64_t width, const ProcessorConfig& config,
                       const std::string& name) {
  const TargetSize size = image_target_size(height, width, config.size_rule());
  if (size.status != SizeStatus::ok) fail_size(size.status, height, width, name);
  if (config.do_resize) {
    if (size.height > kMaxResizedPixels / size.width) {
      throw Error(Code::image_too_large,
                  fmt::format("{}: expected to be resized to at most {} pixels, found {}x{}; lower "
                              "--min-pixels",
                              name, kMaxResizedPixels, size.width, size.height),
                  {{"file", name}});
    }
    return size;
  }
  if (height % config.factor() != 0 || width % config.factor() != 0) {
    throw Error(
        Code::invalid_image,
        fmt::format(
            "{}: {} says do_resize false: expected sides that are multiples of {}, found {}x{}",
            name, config.file, config.factor(), width, height),
        {{"file", name}});
  }
  return {SizeStatus::ok, height, width};
}

Picture prepare_picture(Image image, const ProcessorConfig& config, const std::string& name) {
  const TargetSize size = target_size(image.height, image.width, config, name);
  Picture picture;
  picture.original_height = image.height;
  picture.original_width = image.width;
  picture.resized = resized(std::move(image), size.height, size.width);
  picture.grid = grid_of(1, size, config.patch_size, config.temporal_patch_size);
  picture.tokens = picture.grid.tokens(config.merge_size);
  const std::uint8_t* pixels = picture.resized.rgb.data();
  picture.hash = hash_pixels(frames_of(pixels, picture.resized), picture.grid);
  return picture;
}

void write_pixel_values(const Picture& picture, const ProcessorConfig& config,
                        std::span<float> out) {
  const std::uint8_t* pixels = picture.resized.rgb.data();
  write_patches(frames_of(pixels, picture.resized), config, PixelTable(config), out);
}

}  // namespace sightline::image
