// Sizes to grids (picture_grid.hpp).
#include "audit/picture_grid.hpp"

#include <fmt/format.h>

#include <charconv>

#include "image/sizes.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

// preprocessor_config.json of the published checkpoints: size.shortest_edge and size.longest_edge
// (specification section 2.1).
constexpr std::int64_t kMinPixels = 65536, kMaxPixels = 16777216;

bool read_side(std::string_view text, std::int64_t& side) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, side);
  return result.ec == std::errc() && result.ptr == end && side > 0;
}

}  // namespace

std::optional<PictureSize> read_picture_size(const std::string& text) {
  PictureSize size;
  const std::size_t cross = text.find_first_of("xX");
  const bool valid = cross != std::string::npos &&
                     read_side(std::string_view(text).substr(0, cross), size.width) &&
                     read_side(std::string_view(text).substr(cross + 1), size.height);
  return valid ? std::optional(size) : std::nullopt;
}

PictureSize parse_picture_size(const std::string& option, const std::string& text) {
  if (const auto size = read_picture_size(text)) return *size;
  throw Error(
      Code::invalid_option,
      fmt::format("{}: expected WIDTHxHEIGHT in pixels, such as 640x480, found '{}'", option, text),
      {{"option", option}, {"expected", "WIDTHxHEIGHT"}, {"found", text}});
}

image::SizeRule size_rule(const model::ModelInfo& info, const std::string& directory,
                          const image::PixelLimits& limits) {
  const bool has_file =
      !directory.empty() && (io::is_file(directory + "/preprocessor_config.json") ||
                             io::is_file(directory + "/processor_config.json"));
  if (has_file) return image::read_processor_config(directory, limits).size_rule();
  return {info.patch_size * info.spatial_merge_size, limits.min_pixels.value_or(kMinPixels),
          limits.max_pixels.value_or(kMaxPixels)};
}

nn::Grid picture_grid(const model::ModelInfo& info, const image::SizeRule& rule,
                      const PictureSize& size) {
  const image::TargetSize target = image::image_target_size(size.height, size.width, rule);
  if (target.status == image::SizeStatus::aspect_ratio) {
    throw Error(Code::image_aspect_ratio,
                fmt::format("a picture of {}x{}: expected a longest side of at most {} times the "
                            "shortest",
                            size.width, size.height, image::kMaxAspectRatio));
  }
  if (target.status != image::SizeStatus::ok) {
    throw Error(
        Code::invalid_option,
        fmt::format("a picture of {}x{}: cannot be resized to a multiple of {} between {} "
                    "and {} pixels",
                    size.width, size.height, rule.factor, rule.min_pixels, rule.max_pixels));
  }
  const image::Grid grid = image::grid_of(1, target, info.patch_size, info.temporal_patch_size);
  return {grid.t, grid.h, grid.w};
}

}  // namespace sightline::audit
