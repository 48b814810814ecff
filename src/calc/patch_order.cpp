// Rows of pixel_values and places in the picture (patch_order.hpp).
#include "calc/patch_order.hpp"

namespace sightline::calc {

PatchPlace place_of_row(const Grid& grid, std::int64_t merge, std::int64_t row) noexcept {
  const std::int64_t slots = merge * merge, block_cols = grid.w / merge;
  const std::int64_t token = row / slots, slot = row % slots;
  const std::int64_t blocks = (grid.h / merge) * block_cols, block = token % blocks;
  return {token / blocks, block / block_cols * merge + slot / merge,
          block % block_cols * merge + slot % merge, slot, token};
}

std::int64_t row_of_patch(const Grid& grid, std::int64_t merge, std::int64_t group, std::int64_t y,
                          std::int64_t x) noexcept {
  const std::int64_t block_rows = grid.h / merge, block_cols = grid.w / merge;
  const std::int64_t token = (group * block_rows + y / merge) * block_cols + x / merge;
  return token * merge * merge + y % merge * merge + x % merge;
}

}  // namespace sightline::calc
