// y = x Wᵀ + b, written once over the kernel table. A few rows read the stored weights directly.
// Many rows are first laid out step by step of depth; then threads take tiles of (row block, output
// block) and, per step, widen a few outputs' weights into scratch of their own and multiply panels
// that lie in the caches. Both forms add in the same order: see kDotStep.
#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kRowBlock =
    96;  // rows of a tile: 96 x 2 KiB of a step stay in the second-level cache
constexpr std::int64_t kOutBlock = 256;  // outputs of a tile, over which fetching its rows pays
constexpr std::int64_t kPanelOuts =
    8;  // outputs widened at a time: 16 KiB, half a first-level cache
constexpr std::int64_t kPanelRows = 12;  // rows multiplied between two prefetches
constexpr std::int64_t kMostRows = 768;  // rows laid out at a time: bounds the scratch memory
constexpr std::int64_t kFewOuts = 32;    // outputs of a task of a few rows
constexpr std::int64_t kSerialWork =
    1 << 16;  // multiplications below which waking threads costs more
constexpr std::int64_t kCacheLine = 64;

struct Product {
  const Kernels& kernels;
  ConstView x;
  const Weight& weight;
  const float* bias;
  View y;

  [[nodiscard]] std::int64_t padded(std::int64_t depth) const {
    return (depth + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  }
  [[nodiscard]] const std::byte* stored(std::int64_t out, std::int64_t first) const {
    return weight.row(out) + first * dtype_size(weight.dtype);
  }
};

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

template <class F>
void for_tasks(Compute& compute, bool serial, std::int64_t count, const F& fn) {
  if (!serial) return compute.threads.for_blocks(count, fn);
  for (std::int64_t task = 0; task < count; ++task) fn(task, 0);
}

void few_rows(Compute& compute, const Product& p, bool serial) noexcept {
  for_tasks(compute, serial, divide_up(p.weight.out, kFewOuts), [&](std::int64_t block, int) {
    const std::int64_t first = block * kFewOuts;
    const std::int64_t outs = std::min(kFewOuts, p.weight.out - first);
    p.kernels.dot_stored({p.x.data, p.x.stride, p.x.rows, p.weight.row(first), p.weight.dtype,
                          p.weight.in, outs, p.bias != nullptr ? p.bias + first : nullptr,
                          p.y.data + first, p.y.stride});
  });
}

/// The rows of x, step after step of depth: step s holds [rows][kDotStep], the rest of a row zero
/// up to the lanes.
struct LaidOut {
  const float* data;
  std::int64_t rows;
  [[nodiscard]] const float* at(std::int64_t row, std::int64_t first) const {
    return data + (first / kDotStep * rows + row) * kDotStep;
  }
};

LaidOut lay_out(Compute& compute, const Product& p) {
  const std::int64_t steps = divide_up(p.weight.in, kDotStep);
  float* data = compute.arena.array<float>(steps * p.x.rows * kDotStep);
  for_row_blocks(compute, p.x.rows, p.x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t first = 0; first < p.weight.in; first += kDotStep) {
        const std::int64_t depth = std::min(kDotStep, p.weight.in - first);
        float* target = data + (first / kDotStep * p.x.rows + r) * kDotStep;
        std::copy(p.x.row(r) + first, p.x.row(r) + first + depth, target);
        std::fill(target + depth, target + p.padded(depth), 0.0F);
      }
    }
  });
  return {data, p.x.rows};
}

/// Which part of y a task computes.
struct Tile {
  std::int64_t row = 0, rows = 0, out = 0, outs = 0;
};

/// `outs` weight rows from `out`, at one step of depth.
struct Panel {
  std::int64_t out = 0, outs = 0, first = 0, depth = 0;
};

void widen_panel(const Product& p, const Panel& panel, float* scratch) {
  const std::int64_t padded = p.padded(panel.depth);
  for (std::int64_t o = 0; o < panel.outs; ++o) {
    float* target = scratch + o * kDotStep;
    p.kernels.widen(p.weight.dtype, p.stored(panel.out + o, panel.first), panel.depth, target);
    std::fill(target + panel.depth, target + padded, 0.0F);
  }
}

/// The panel after `panel` in a tile; no outputs after the last one.
Panel next_panel(const Product& p, const Tile& tile, Panel panel) {
  panel.out += panel.outs;
  if (panel.out == tile.out + tile.outs) {
    panel.out = tile.out;
    panel.first += panel.depth;
    panel.depth = std::min(kDotStep, p.weight.in - panel.first);
  }
  panel.outs = panel.depth == 0 ? 0 : std::min(kPanelOuts, tile.out + tile.outs - panel.out);
  return panel;
}

void prefetch(const Product& p, const Panel& panel, std::int64_t begin, std::int64_t end) {
  const std::int64_t bytes = panel.depth * dtype_size(p.weight.dtype);
  for (std::int64_t o = begin; o < std::min(end, panel.outs); ++o) {
    const std::byte* row = p.stored(panel.out + o, panel.first);
    for (std::int64_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(row + b, 0, 2);
  }
}

/// Multiplies a widened panel with the rows of a tile, and fetches the next panel's bytes
/// meanwhile.
void multiply_panel(const Product& p, const LaidOut& x, const Tile& tile, const Panel& panel,
                    const float* scratch) {
  const Panel next = next_panel(p, tile, panel);
  const std::int64_t pieces = divide_up(tile.rows, kPanelRows);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t row = tile.row + piece * kPanelRows;
    const std::int64_t rows = std::min(kPanelRows, tile.row + tile.rows - row);
    prefetch(p, next, piece * kPanelOuts / pieces, (piece + 1) * kPanelOuts / pieces);
    p.kernels.dot_panel({x.at(row, panel.first), kDotStep, rows, scratch, kDotStep, panel.outs,
                         p.y.row(row) + panel.out, p.y.stride, p.padded(panel.depth),
                         panel.first > 0});
  }
}

void compute_tile(const Product& p, const LaidOut& x, const Tile& tile, float* scratch) noexcept {
  Panel panel{tile.out, std::min(kPanelOuts, tile.outs), 0, std::min(kDotStep, p.weight.in)};
  for (; panel.outs > 0; panel = next_panel(p, tile, panel)) {
    widen_panel(p, panel, scratch);
    multiply_panel(p, x, tile, panel, scratch);
  }
  if (p.bias == nullptr) return;
  for (std::int64_t r = tile.row; r < tile.row + tile.rows; ++r) {
    float* y = p.y.row(r);
    for (std::int64_t o = tile.out; o < tile.out + tile.outs; ++o) y[o] += p.bias[o];
  }
}

void many_rows(Compute& compute, const Product& p, bool serial) {
  const ArenaScope scope(compute.arena);
  const LaidOut x = lay_out(compute, p);
  const int workers = serial ? 1 : compute.threads.count();
  constexpr std::int64_t kScratch = kPanelOuts * kDotStep;
  float* scratch = compute.arena.array<float>(workers * kScratch);
  // Smaller tiles when there would be too few for the threads to share them evenly; no result
  // depends on it.
  const std::int64_t row_blocks = divide_up(p.x.rows, kRowBlock);
  std::int64_t out_block = kOutBlock;
  while (workers > 1 && row_blocks * divide_up(p.weight.out, out_block) < 4 * workers &&
         out_block > 2 * kPanelOuts) {
    out_block /= 2;
  }
  const std::int64_t out_blocks = divide_up(p.weight.out, out_block);
  for_tasks(compute, serial, row_blocks * out_blocks, [&](std::int64_t block, int worker) {
    Tile tile;
    tile.row = block / out_blocks * kRowBlock;
    tile.out = block % out_blocks * out_block;
    tile.rows = std::min(kRowBlock, p.x.rows - tile.row);
    tile.outs = std::min(out_block, p.weight.out - tile.out);
    compute_tile(p, x, tile, scratch + worker * kScratch);
  });
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
  if (weight.out == 0) return;
  const bool serial = compute.threads.count() == 1 || x.rows * weight.out * weight.in < kSerialWork;
  for (std::int64_t first = 0; first < x.rows; first += kMostRows) {
    const std::int64_t rows = std::min(kMostRows, x.rows - first);
    const Product part{compute.kernels, x.slice_rows(first, rows), weight, bias,
                       y.slice_rows(first, rows)};
    if (weight.in == 0) {
      no_inputs(part);
    } else if (rows <= kFewRows) {
      few_rows(compute, part, serial);
    } else {
      many_rows(compute, part, serial);
    }
  }
}

void widen_row(const Weight& weight, std::int64_t index, float* out) noexcept {
  kReference.widen(weight.dtype, weight.row(index), weight.in, out);
}

}  // namespace sightline::kernels
