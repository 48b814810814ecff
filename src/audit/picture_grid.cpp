// Sizes to grids (picture_grid.hpp).
#include "audit/picture_grid.hpp"

#include <fmt/format.h>

#include <charconv>

#include "audit/family.hpp"
#include "image/sizes.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr const char* kPublished = "the published processor";  // what errors would call it

bool read_number(std::string_view text, std::int64_t& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && number > 0;
}

}  // namespace

std::optional<PictureSize> read_picture_size(const std::string& text) {
  PictureSize size;
  const std::size_t cross = text.find_first_of("xX");
  const bool valid = cross != std::string::npos &&
                     read_number(std::string_view(text).substr(0, cross), size.width) &&
                     read_number(std::string_view(text).substr(cross + 1), size.height);
  return valid ? std::optional(size) : std::nullopt;
}

PictureSize parse_picture_size(const std::string& option, const std::string& text) {
  if (const auto size = read_picture_size(text)) return *size;
  throw Error(
      Code::invalid_option,
      fmt::format("{}: expected WIDTHxHEIGHT in pixels, such as 640x480, found '{}'", option, text),
      {{"option", option}, {"expected", "WIDTHxHEIGHT"}, {"found", text}});
}

ClipSize parse_clip_size(const std::string& option, const std::string& text,
                         std::int64_t most_frames) {
  ClipSize clip;
  const std::size_t cross = text.find_first_of("xX");
  const bool counted = cross != std::string::npos &&
                       read_number(std::string_view(text).substr(0, cross), clip.frames);
  const std::optional<PictureSize> frame =
      counted ? read_picture_size(text.substr(cross + 1)) : std::nullopt;
  if (frame && clip.frames >= calc::kQwenTemporal && clip.frames <= most_frames)
    return {clip.frames, *frame};
  throw Error(Code::invalid_option,
              fmt::format("{}: expected FRAMESxWIDTHxHEIGHT with {} to {} sampled frames, such as "
                          "16x640x480, found '{}'",
                          option, calc::kQwenTemporal, most_frames, text),
              {{"option", option}, {"found", text}});
}

image::SizeRule size_rule(const model::ModelInfo& info, const std::string& directory,
                          const image::PixelLimits& limits) {
  const bool has_file =
      !directory.empty() && (io::has_file(directory + "/preprocessor_config.json") ||
                             io::has_file(directory + "/processor_config.json"));
  if (has_file) return image::read_processor_config(directory, limits).size_rule();
  image::SizeRule rule =
      image::parse_processor_config(published_image_processor(), kPublished).size_rule();
  rule.factor = info.patch_size * info.spatial_merge_size;
  rule.min_pixels = limits.min_pixels.value_or(rule.min_pixels);
  rule.max_pixels = limits.max_pixels.value_or(rule.max_pixels);
  return rule;
}

video::VideoProcessorConfig video_processor(const model::ModelInfo& info,
                                            const std::string& directory) {
  if (!directory.empty() && video::has_video_processor(directory))
    return video::read_video_processor_config(directory);
  video::VideoProcessorConfig config =
      video::parse_video_processor_config(published_video_processor(), kPublished);
  config.frames.patch_size = info.patch_size;
  config.frames.merge_size = info.spatial_merge_size;
  config.frames.temporal_patch_size = info.temporal_patch_size;
  config.sampling.temporal_patch = info.temporal_patch_size;
  return config;
}

void check_target(const image::TargetSize& target, const PictureSize& size,
                  const image::SizeRule& rule) {
  if (target.status == image::SizeStatus::ok) return;
  if (target.status == image::SizeStatus::aspect_ratio) {
    throw Error(Code::image_aspect_ratio,
                fmt::format("{}x{} pixels: expected a longest side of at most {} times the "
                            "shortest",
                            size.width, size.height, image::kMaxAspectRatio));
  }
  throw Error(
      Code::invalid_option,
      fmt::format("{}x{} pixels: cannot be resized to a multiple of {} between {} and {} pixels",
                  size.width, size.height, rule.factor, rule.min_pixels, rule.max_pixels));
}

nn::Grid picture_grid(const model::ModelInfo& info, const image::SizeRule& rule,
                      const PictureSize& size) {
  const image::TargetSize target = image::image_target_size(size.height, size.width, rule);
  check_target(target, size, rule);
  const image::Grid grid = image::grid_of(1, target, info.patch_size, info.temporal_patch_size);
  return {grid.t, grid.h, grid.w};
}

nn::Grid clip_grid(const model::ModelInfo& info, const video::VideoProcessorConfig& processor,
                   const std::string& option, const std::string& size) {
  const ClipSize clip = parse_clip_size(option, size, processor.sampling.max_frames);
  const image::ClipRule rule = processor.clip_rule();
  const image::TargetSize target =
      image::video_target_size(clip.frames, clip.frame.height, clip.frame.width, rule);
  check_target(target, clip.frame, rule.size);
  const image::Grid grid =
      image::grid_of(clip.frames, target, info.patch_size, info.temporal_patch_size);
  return {grid.t, grid.h, grid.w};
}

}  // namespace sightline::audit
