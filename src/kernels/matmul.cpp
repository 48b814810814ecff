// y = x Wᵀ + b, written once over the kernel table. A few rows read the stored weights directly;
// many rows go in tasks of (row block, output block): per step of depth, a task copies its rows and
// widens a few outputs' weights into scratch that fits the caches, and multiplies panels. Both
// forms add in the same order: see kDotStep.
#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kRowBlock =
    96;  // rows of a task: 96 x 2 KiB of a step stay in the second-level cache
constexpr std::int64_t kOutBlock = 128;  // outputs of a task, over which the copy of the rows pays
constexpr std::int64_t kPanelOuts =
    8;  // outputs widened at a time: 16 KiB, half a first-level cache
constexpr std::int64_t kFewOuts = 32;  // outputs of a task of a few rows
constexpr std::int64_t kSerialWork =
    1 << 16;  // multiplications below which waking threads costs more

struct Product {
  const Kernels& kernels;
  ConstView x;
  const Weight& weight;
  const float* bias;
  View y;
};

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

void few_rows(Compute& compute, const Product& p, bool serial) noexcept {
  const auto run = [&](std::int64_t first, std::int64_t outs) {
    p.kernels.dot_stored({p.x.data, p.x.stride, p.x.rows, p.weight.row(first), p.weight.dtype,
                          p.weight.in, outs, p.bias != nullptr ? p.bias + first : nullptr,
                          p.y.data + first, p.y.stride});
  };
  if (serial) return run(0, p.weight.out);
  compute.threads.for_blocks(divide_up(p.weight.out, kFewOuts), [&](std::int64_t block, int) {
    const std::int64_t first = block * kFewOuts;
    run(first, std::min(kFewOuts, p.weight.out - first));
  });
}

/// Which part of y a task computes.
struct Tile {
  std::int64_t row = 0, rows = 0, out = 0, outs = 0;
};

/// Copies a step of the rows, padded with zeros.
void copy_rows(const Product& p, const Tile& tile, std::int64_t first, std::int64_t depth,
               std::int64_t padded, float* scratch) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* source = p.x.row(tile.row + r) + first;
    float* target = scratch + r * kDotStep;
    std::copy(source, source + depth, target);
    std::fill(target + depth, target + padded, 0.0F);
  }
}

/// Widens a step of `outs` weight rows from `out`, padded with zeros.
void widen_panel(const Product& p, std::int64_t out, std::int64_t outs, std::int64_t first,
                 std::int64_t depth, std::int64_t padded, float* scratch) {
  for (std::int64_t o = 0; o < outs; ++o) {
    float* target = scratch + o * kDotStep;
    p.kernels.widen(p.weight.dtype, p.weight.row(out + o) + first * dtype_size(p.weight.dtype),
                    depth, target);
    std::fill(target + depth, target + padded, 0.0F);
  }
}

void add_bias(const Product& p, const Tile& tile) {
  for (std::int64_t r = tile.row; r < tile.row + tile.rows; ++r) {
    float* y = p.y.row(r);
    for (std::int64_t o = tile.out; o < tile.out + tile.outs; ++o) y[o] += p.bias[o];
  }
}

void compute_tile(const Product& p, const Tile& tile, float* scratch) noexcept {
  float* rows = scratch;
  float* panel = scratch + kRowBlock * kDotStep;
  for (std::int64_t first = 0; first < p.weight.in; first += kDotStep) {
    const std::int64_t depth = std::min(kDotStep, p.weight.in - first);
    const std::int64_t padded = round_up(depth, p.kernels.lanes);
    copy_rows(p, tile, first, depth, padded, rows);
    for (std::int64_t o = 0; o < tile.outs; o += kPanelOuts) {
      const std::int64_t outs = std::min(kPanelOuts, tile.outs - o);
      widen_panel(p, tile.out + o, outs, first, depth, padded, panel);
      p.kernels.dot_panel({rows, kDotStep, tile.rows, panel, kDotStep, outs,
                           p.y.row(tile.row) + tile.out + o, p.y.stride, padded, first > 0});
    }
  }
  if (p.bias != nullptr) add_bias(p, tile);
}

void many_rows(Compute& compute, const Product& p, bool serial) {
  const ArenaScope scope(compute.arena);
  const int workers = serial ? 1 : compute.threads.count();
  constexpr std::int64_t kScratch = (kRowBlock + kPanelOuts) * kDotStep;
  float* scratch = compute.arena.array<float>(workers * kScratch);
  // Smaller tiles when there would be too few for the threads to share them evenly; no result
  // depends on it.
  std::int64_t out_block = kOutBlock;
  std::int64_t row_block = std::min(kRowBlock, p.x.rows);
  const auto tiles = [&] {
    return divide_up(p.x.rows, row_block) * divide_up(p.weight.out, out_block);
  };
  while (workers > 1 && tiles() < 4 * workers && out_block > 4 * kPanelOuts) out_block /= 2;
  const std::int64_t out_blocks = divide_up(p.weight.out, out_block);
  const auto run = [&](std::int64_t block, int worker) {
    Tile tile;
    tile.row = block / out_blocks * row_block;
    tile.out = block % out_blocks * out_block;
    tile.rows = std::min(row_block, p.x.rows - tile.row);
    tile.outs = std::min(out_block, p.weight.out - tile.out);
    compute_tile(p, tile, scratch + worker * kScratch);
  };
  if (!serial) return compute.threads.for_blocks(tiles(), run);
  for (std::int64_t block = 0; block < tiles(); ++block) run(block, 0);
}

/// A row of no inputs is the bias.
void no_inputs(const Product& p) {
  for (std::int64_t r = 0; r < p.x.rows; ++r) {
    for (std::int64_t o = 0; o < p.weight.out; ++o)
      p.y.row(r)[o] = p.bias != nullptr ? p.bias[o] : 0.0F;
  }
}

}  // namespace

void matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias, View y) {
  if (x.rows == 0 || weight.out == 0) return;
  const Product product{compute.kernels, x, weight, bias, y};
  if (weight.in == 0) return no_inputs(product);
  const bool serial = compute.threads.count() == 1 || x.rows * weight.out * weight.in < kSerialWork;
  if (x.rows <= kFewRows) return few_rows(compute, product, serial);
  many_rows(compute, product, serial);
}

void widen_row(const Weight& weight, std::int64_t index, float* out) noexcept {
  kReference.widen(weight.dtype, weight.row(index), weight.in, out);
}

}  // namespace sightline::kernels
