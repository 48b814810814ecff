// Places of patches, position embedding and rotary angles (vision_positions.hpp).
#include "nn/vision_positions.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/matmul.hpp"

namespace sightline::nn {
namespace {

constexpr std::int64_t kRowsPerBlock = 64;  // patches handed to a thread at once

// Where a patch samples one axis of the table: entries a and b with weights 1 - delta and delta.
struct Sample {
  std::int64_t a = 0, b = 0;
  float delta = 0;
};

Sample sample_axis(std::int64_t i, std::int64_t n, std::int64_t side) {
  const auto numerator = static_cast<float>(i * (side - 1));
  const float source = numerator / static_cast<float>(std::max<std::int64_t>(n - 1, 1));
  const auto a = static_cast<std::int64_t>(source);
  return {a, std::min(a + 1, side - 1), source - static_cast<float>(a)};
}

/// Writes to `sum` the row of the table, side x side rows, that lies between its rows at y and x;
/// `corner` is scratch of one row.
void interpolate(const Weight& table, std::int64_t side, const Sample& y, const Sample& x,
                 float* corner, float* sum) {
  const auto accumulate = [&](std::int64_t row, std::int64_t column, float weight, bool start) {
    kernels::widen_row(table, row * side + column, corner);
    for (std::int64_t k = 0; k < table.in; ++k)
      sum[k] = (start ? 0.0F : sum[k]) + weight * corner[k];
  };
  accumulate(y.a, x.a, (1 - y.delta) * (1 - x.delta), true);
  accumulate(y.a, x.b, (1 - y.delta) * x.delta, false);
  accumulate(y.b, x.a, y.delta * (1 - x.delta), false);
  accumulate(y.b, x.b, y.delta * x.delta, false);
}

/// Adds `row` to the rows first, first + step, … of `hidden`, `count` of them.
void add_to_rows(const float* row, std::int64_t first, std::int64_t step, std::int64_t count,
                 View hidden) {
  for (std::int64_t i = 0; i < count; ++i) {
    float* out = hidden.row(first + i * step);
    for (std::int64_t k = 0; k < hidden.cols; ++k) out[k] += row[k];
  }
}

}  // namespace

std::vector<PatchPlace> merge_block_order(const Grid& grid, std::int64_t merge) {
  std::vector<PatchPlace> places;
  places.reserve(static_cast<std::size_t>(grid.h * grid.w));
  for (std::int64_t by = 0; by < grid.h; by += merge) {
    for (std::int64_t bx = 0; bx < grid.w; bx += merge) {
      for (std::int64_t my = 0; my < merge; ++my) {
        for (std::int64_t mx = 0; mx < merge; ++mx) places.push_back({by + my, bx + mx});
      }
    }
  }
  return places;
}

void add_position_embedding(Pass& pass, const Weight& table, std::span<const Grid> grids,
                            std::int64_t merge, View hidden) {
  // Four corners of the table, weighted and added, then the addition.
  constexpr std::int64_t kOperations = 9;
  const std::int64_t values = hidden.rows * hidden.cols;
  if (pass.count({kOperations * values, table.bytes(), 2 * values * dtype_size(DType::f32)}))
    return;
  const auto side =
      static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(table.out))));
  std::int64_t first = 0;
  for (const Grid& grid : grids) {
    const auto places = merge_block_order(grid, merge);
    const auto rows = static_cast<std::int64_t>(places.size());
    const ArenaScope scope(pass.arena);
    const View corner = pass.arena.matrix(pass.threads.count(), table.in);
    const View sum = pass.arena.matrix(pass.threads.count(), table.in);
    pass.threads.for_blocks(
        (rows + kRowsPerBlock - 1) / kRowsPerBlock, [&](std::int64_t block, int worker) {
          const std::int64_t end = std::min(rows, (block + 1) * kRowsPerBlock);
          for (std::int64_t p = block * kRowsPerBlock; p < end; ++p) {
            const auto [row, col] = places[static_cast<std::size_t>(p)];
            interpolate(table, side, sample_axis(row, grid.h, side), sample_axis(col, grid.w, side),
                        corner.row(worker), sum.row(worker));
            add_to_rows(sum.row(worker), first + p, rows, grid.t, hidden);
          }
        });
    first += grid.patches();
  }
}

void vision_rotary(Pass& pass, const VisionRotaryEmbedding& rotary, std::span<const Grid> grids,
                   std::int64_t merge, View cos, View sin) {
  if (pass.counts_only()) return;
  std::int64_t first = 0;
  for (const Grid& grid : grids) {
    const auto places = merge_block_order(grid, merge);
    const auto rows = static_cast<std::int64_t>(places.size());
    pass.threads.for_blocks((rows + kRowsPerBlock - 1) / kRowsPerBlock,
                            [&](std::int64_t block, int) {
                              const std::int64_t end = std::min(rows, (block + 1) * kRowsPerBlock);
                              for (std::int64_t p = block * kRowsPerBlock; p < end; ++p) {
                                const auto [row, col] = places[static_cast<std::size_t>(p)];
                                rotary(row, col, cos.row(first + p), sin.row(first + p));
                              }
                            });
    for (std::int64_t t = 1; t < grid.t; ++t) {
      std::memcpy(cos.row(first + t * rows), cos.row(first),
                  static_cast<std::size_t>(rows * cos.stride) * sizeof(float));
      std::memcpy(sin.row(first + t * rows), sin.row(first),
                  static_cast<std::size_t>(rows * sin.stride) * sizeof(float));
    }
    first += grid.patches();
  }
}

}  // namespace sightline::nn
