// A picture made ready for the tower: target size, resize, grid, tokens, hash. The one entry that
// callers above this layer need besides decode(). Throws; holds pixels in 8 bits until pixel values
// are wanted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "image/image.hpp"
#include "image/patches.hpp"
#include "image/processor_config.hpp"
#include "image/sizes.hpp"

namespace sightline::image {

/// One picture as the processor of the checkpoint sees it.
struct Picture {
  std::int64_t original_height = 0, original_width = 0;  ///< upright, before the resize
  Image resized;
  Grid grid;                ///< (1, height / patch, width / patch)
  std::int64_t tokens = 0;  ///< placeholders in the prompt
  PixelHash hash;           ///< of grid and resized pixels
};

/// Most pixels of a resized picture: the 262,144 visual tokens of 32 x 32 pixels that fill the
/// longest published context (max_position_embeddings).
inline constexpr std::int64_t kMaxResizedPixels = std::int64_t{262144} * 32 * 32;

/// The size that a height x width picture is resized to. Throws Error(image_aspect_ratio) beyond
/// 200:1, Error(image_too_large) for a target of more than kMaxResizedPixels, Error(invalid_image)
/// for a picture without pixels, or one that do_resize = false leaves at an impossible size.
TargetSize target_size(std::int64_t height, std::int64_t width, const ProcessorConfig& config,
                       const std::string& name);

/// Resizes, counts, hashes. `name` is what errors call the picture. Throws what target_size()
/// throws.
Picture prepare_picture(Image image, const ProcessorConfig& config, const std::string& name);

/// Writes the picture's rows of pixel_values into `out` [grid.patches()][config.row_floats()].
void write_pixel_values(const Picture& picture, const ProcessorConfig& config,
                        std::span<float> out);

}  // namespace sightline::image
