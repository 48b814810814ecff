// Resized pixels to the rows of pixel_values: normalisation by table, patches in merge-block order,
// and the hash that names a picture. Pure functions and an immutable table; safe to share between
// threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "image/image.hpp"
#include "image/processor_config.hpp"
#include "image/sizes.hpp"

namespace sightline::image {

/// Float value of every byte in each of the three channels. HF: rescale_and_normalize (the two
/// fused in float32); specification section 2.4.
class PixelTable {
 public:
  explicit PixelTable(const ProcessorConfig& config);

  [[nodiscard]] const float* channel(std::size_t c) const noexcept { return values_[c].data(); }

 private:
  std::array<std::array<float, 256>, 3> values_;
};

/// Frames of one size as they enter the tower: one for a picture, more for a clip.
struct Frames {
  std::span<const std::uint8_t* const> rgb;  ///< each height * width * 3 bytes
  std::int64_t height = 0, width = 0;        ///< multiples of patch_size * merge_size
};

/// Fills `out` [grid.patches()][row_floats()] with normalised patches. Rows go through (t, block
/// row, block column, row in block, column in block), columns through (channel, frame of the pair,
/// y, x). Missing frames of the last group repeat the last frame, so a picture fills all its
/// temporal slices. Specification section 2.5.
void write_patches(const Frames& frames, const ProcessorConfig& config, const PixelTable& table,
                   std::span<float> out);

/// The first 128 bits of the SHA-256 of a grid and its resized pixels: equal exactly when the
/// tower's input is.
struct PixelHash {
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const PixelHash&, const PixelHash&) = default;
  friend auto operator<=>(const PixelHash&, const PixelHash&) = default;
};

PixelHash hash_pixels(const Frames& frames, const Grid& grid);

}  // namespace sightline::image
