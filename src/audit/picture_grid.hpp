// The patch grid of a picture or clip that is known by its size alone, for walks without pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "image/processor_config.hpp"
#include "model/vision_language_model.hpp"
#include "nn/vision_positions.hpp"
#include "video/processor_config.hpp"

namespace sightline::audit {

struct PictureSize {
  std::int64_t width = 0, height = 0;
};

/// "640x480", width first; nothing if the text is no size.
std::optional<PictureSize> read_picture_size(const std::string& text);
/// The same. `option` is what errors call it. Throws Error(invalid_option).
PictureSize parse_picture_size(const std::string& option, const std::string& text);

/// A clip by its sampled frames.
struct ClipSize {
  std::int64_t frames = 0;
  PictureSize frame;
};
/// "16x640x480", 2 to `most_frames` frames first. Throws Error(invalid_option).
ClipSize parse_clip_size(const std::string& option, const std::string& text,
                         std::int64_t most_frames);

/// The rule of a directory's processor file, with the geometry of the model; without a file
/// (`directory` empty, or it has none) the limits that all published sizes have.
image::SizeRule size_rule(const model::ModelInfo& info, const std::string& directory,
                          const image::PixelLimits& limits);

/// The video processor of a directory; without a file the published one, with the geometry of the
/// model. Throws Error(invalid_processor).
video::VideoProcessorConfig video_processor(const model::ModelInfo& info,
                                            const std::string& directory);

/// Patches of the picture after resizing. Throws Error(image_aspect_ratio, invalid_option).
nn::Grid picture_grid(const model::ModelInfo& info, const image::SizeRule& rule,
                      const PictureSize& size);
/// Patches of a clip, given as "16x640x480" to `option`. Throws as above.
nn::Grid clip_grid(const model::ModelInfo& info, const video::VideoProcessorConfig& processor,
                   const std::string& option, const std::string& size);

/// The size that a rule gave. Throws Error(image_aspect_ratio, invalid_option) if there is none.
void check_target(const image::TargetSize& target, const PictureSize& size,
                  const image::SizeRule& rule);

}  // namespace sightline::audit
