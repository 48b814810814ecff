// The run-length form of 4- and 8-bit BMP pixels. Private to bmp.cpp; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sightline::image {

/// Expands RLE8 (or RLE4 with `nibbles`) into height * width colour indices, in stored order: the
/// bottom row first. Pixels that are skipped are 0. Nothing when the data end before the picture
/// does or a run leaves it. Source: Windows GDI documentation, "Bitmap compression".
std::optional<std::vector<std::uint8_t>> expand_run_lengths(std::string_view data,
                                                            std::int64_t width, std::int64_t height,
                                                            bool nibbles);

}  // namespace sightline::image
