// Which patch a row of pixel_values holds, and which visual token it becomes: the order in which
// image/patches.hpp writes them (tested against it). Specification section 2.5.
#pragma once

#include <cstdint>

#include "calc/sizes.hpp"

namespace sightline::calc {

/// A patch of a grid of Qwen's processor; counts in patches and from 0.
struct PatchPlace {
  std::int64_t group = 0, y = 0, x = 0;  ///< temporal group, row and column of the patch
  std::int64_t slot = 0;   ///< place in its merge block: row in block * merge + column
  std::int64_t token = 0;  ///< visual token of the grid that its block becomes
  friend bool operator==(const PatchPlace&, const PatchPlace&) = default;
};

/// Place of row `row` of pixel_values, 0 <= row < grid.patches(). Height and width of the grid are
/// multiples of merge.
PatchPlace place_of_row(const Grid& grid, std::int64_t merge, std::int64_t row) noexcept;

/// The inverse: row of the patch at (group, y, x).
std::int64_t row_of_patch(const Grid& grid, std::int64_t merge, std::int64_t group, std::int64_t y,
                          std::int64_t x) noexcept;

}  // namespace sightline::calc
