// The patch grid of a picture that is known by its size alone, for walks without pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "image/processor_config.hpp"
#include "model/vision_language_model.hpp"
#include "nn/vision_positions.hpp"

namespace sightline::audit {

struct PictureSize {
  std::int64_t width = 0, height = 0;
};

/// "640x480", width first; nothing if the text is no size.
std::optional<PictureSize> read_picture_size(const std::string& text);
/// The same. `option` is what errors call it. Throws Error(invalid_option).
PictureSize parse_picture_size(const std::string& option, const std::string& text);

/// The rule of a directory's processor file, with the geometry of the model; without a file
/// (`directory` empty, or it has none) the limits that all published sizes have.
image::SizeRule size_rule(const model::ModelInfo& info, const std::string& directory,
                          const image::PixelLimits& limits);

/// Patches of the picture after resizing. Throws Error(image_aspect_ratio, invalid_option).
nn::Grid picture_grid(const model::ModelInfo& info, const image::SizeRule& rule,
                      const PictureSize& size);

}  // namespace sightline::audit
