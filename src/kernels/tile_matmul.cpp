// Rows are rounded and laid out once for all outputs, as many at a time as stay small beside the
// activations; threads take blocks of rows and outputs, and read the stored weights directly.
#include "kernels/tile_matmul.hpp"

#include <algorithm>

#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kLaidValues = std::int64_t{1} << 23;  // laid out at a time: 16 MiB
constexpr std::int64_t kTasksPerThread = 4;  // unless outputs are too few, so that none goes idle
constexpr std::int64_t kLeastOuts = 32;      // of a task: a block of tiles

struct Product {
  const TileProducts& tiles;
  ConstView x;
  const Weight& weight;
  const float* bias;
  View y;
  bf16* laid = nullptr;  ///< the rows of x, laid out
  bool parallel = false;
};

template <class F>
void for_tasks(Compute& compute, const Product& p, std::int64_t tasks, const F& run) {
  if (p.parallel) return compute.threads.for_blocks(tasks, run);
  for (std::int64_t task = 0; task < tasks; ++task) run(task, 0);
}

void lay_out(Compute& compute, const Product& p) {
  for_tasks(compute, p, divide_up(p.x.rows, kTileSide), [&](std::int64_t group, int) {
    const std::int64_t row = group * kTileSide;
    p.tiles.lay_rows({p.x.row(row), p.x.stride, std::min(kTileSide, p.x.rows - row), p.x.cols,
                      p.laid + row * tile_stride(p.x.cols)});
  });
}

/// Consecutive tasks share their rows.
void multiply(Compute& compute, const Product& p) {
  const std::int64_t row_blocks = divide_up(p.x.rows, kTileRows);
  std::int64_t outs = kTileOutputs;
  while (outs > kLeastOuts &&
         row_blocks * divide_up(p.weight.out, outs) < kTasksPerThread * compute.threads.count())
    outs /= 2;
  const std::int64_t out_blocks = divide_up(p.weight.out, outs);
  for_tasks(compute, p, row_blocks * out_blocks, [&](std::int64_t task, int) {
    const std::int64_t row = task / out_blocks * kTileRows, out = task % out_blocks * outs;
    p.tiles.multiply({p.laid + row * tile_stride(p.x.cols), std::min(kTileRows, p.x.rows - row),
                      p.weight.row(out), p.weight.in, std::min(outs, p.weight.out - out),
                      p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out, p.y.stride});
  });
}

}  // namespace

bool takes_tiles(const Compute& compute, const Weight& weight) {
  return compute.kernels.tiles != nullptr && compute.precision == Precision::bf16 &&
         weight.dtype == DType::bf16 && !weight.packed && weight.in > 0;
}

void tile_matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias,
                 View y) noexcept {
  const ArenaScope scope(compute.arena);
  const std::int64_t stride = tile_stride(weight.in);
  const std::int64_t at_once =
      std::min(x.rows, std::max(kLaidValues / stride / kTileRows, std::int64_t{1}) * kTileRows);
  auto* laid = compute.arena.array<bf16>(at_once * stride);
  const Work work{2 * x.rows * weight.out * weight.in, weight.bytes(),
                  x.rows * (weight.in + weight.out) * dtype_size(DType::f32)};
  if (compute.count(work) || x.rows == 0 || weight.out == 0) return;
  for (std::int64_t row = 0; row < x.rows; row += at_once) {
    const std::int64_t rows = std::min(at_once, x.rows - row);
    const Product p{*compute.kernels.tiles,
                    x.slice_rows(row, rows),
                    weight,
                    bias,
                    y.slice_rows(row, rows),
                    laid,
                    rows * weight.out * weight.in >= kSerialWork};
    lay_out(compute, p);
    multiply(compute, p);
  }
}

}  // namespace sightline::kernels
