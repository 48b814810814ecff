// y = x Wᵀ + b and y = x W, written once over the kernel table: threads take tiles of (rows,
// outputs) and read the stored weights directly. The reduction is never split, and every element is
// summed in one order: see kDotStep.
#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kRowBlock =
    96;  // rows of a tile: 96 x 2 KiB of a step stay in the second-level cache
constexpr std::int64_t kOutBlock =
    16;  // outputs of a tile: 16 x 1 KiB of a step (bf16) stay in the first-level cache
constexpr std::int64_t kFewRows = 16;  // up to here tiles are smaller,
constexpr std::int64_t kFewOuts = 32;  // since they do less with their weights
constexpr std::int64_t kSerialWork =
    1 << 16;  // multiplications below which waking threads costs more

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Rounded rows (kernels: round_step).
struct Rounded {
  const std::int16_t* x = nullptr;
  std::int64_t stride = 0;
  const float* scales = nullptr;
  std::int64_t steps = 0;
};

struct Product {
  const Kernels& kernels;
  ConstView x;
  const Weight& weight;
  const float* bias;
  View y;
  Rounded rounded = {};
};

/// The part of y from (row, out) of at most `rows` x `outs`.
void compute_tile(const Product& p, std::int64_t row, std::int64_t rows, std::int64_t out,
                  std::int64_t outs) noexcept {
  if (p.rounded.x != nullptr) {
    return p.kernels.dot_integers(
        {p.rounded.x + row * p.rounded.stride, p.rounded.stride, std::min(rows, p.x.rows - row),
         p.rounded.scales + row * p.rounded.steps, p.rounded.steps, p.weight.packed.get(), out,
         std::min(outs, p.weight.out - out), p.bias != nullptr ? p.bias + out : nullptr,
         p.y.row(row) + out, p.y.stride});
  }
  if (p.weight.packed) {
    return p.kernels.dot_packed({p.x.row(row), p.x.stride, std::min(rows, p.x.rows - row),
                                 p.weight.packed.get(), out, std::min(outs, p.weight.out - out),
                                 p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out,
                                 p.y.stride});
  }
  p.kernels.dot_stored({p.x.row(row), p.x.stride, std::min(rows, p.x.rows - row), p.weight.row(out),
                        p.weight.dtype, p.weight.in, std::min(outs, p.weight.out - out),
                        p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out,
                        p.y.stride});
}

/// A row of no inputs is the bias.
void no_inputs(const Product& p) {
  for (std::int64_t r = 0; r < p.x.rows; ++r) {
    for (std::int64_t o = 0; o < p.weight.out; ++o)
      p.y.row(r)[o] = p.bias != nullptr ? p.bias[o] : 0.0F;
  }
}

/// x in the order in which a weight's columns are packed.
ConstView in_packed_order(Compute& compute, ConstView x, const Weight& weight) {
  if (!weight.packed || weight.packed->columns == nullptr) return x;
  const std::int32_t* columns = weight.packed->columns;
  const View ordered = compute.arena.matrix(x.rows, x.cols);
  if (compute.counts_only()) return ordered;
  for_row_blocks(compute, x.rows, x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* from = x.row(r);
      float* to = ordered.row(r);
      for (std::int64_t k = 0; k < x.cols; ++k) to[k] = from[columns[k]];
    }
  });
  return ordered;
}

/// Rows rounded for a weight in integer form, step by step.
Rounded round_rows(Compute& compute, ConstView x, const PackedWeight& weight) {
  const std::int64_t steps = integer_steps(x.cols);
  const std::int64_t stride = divide_up(x.cols, kIntegerChunk) * kIntegerChunk;
  auto* integers = compute.arena.array<std::int16_t>(x.rows * stride);
  auto* scales = compute.arena.array<float>(x.rows * steps);
  for_row_blocks(compute, x.rows, x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t s = 0; s < steps; ++s) {
        const std::int64_t first = s * kIntegerStep;
        scales[r * steps + s] =
            compute.kernels.round_step(x.row(r) + first, std::min(kIntegerStep, x.cols - first),
                                       weight.code, integers + r * stride + first);
      }
    }
  });
  return {integers, stride, scales, steps};
}

/// Outputs of a tile. For one row, a task of packed weights reads as much as one of stored ones.
std::int64_t outputs_of_tile(const Product& p) {
  if (p.x.rows > kFewRows) return kOutBlock;
  return p.rounded.x != nullptr ? 4 * kFewOuts : kFewOuts;
}

}  // namespace

void matmul(Compute& compute, ConstView rows, const Weight& weight, const float* bias,
            View y) noexcept {
  const ArenaScope scope(compute.arena);
  const ConstView x = in_packed_order(compute, rows, weight);
  const Work work{2 * x.rows * weight.out * weight.in, weight.bytes(),
                  x.rows * (weight.in + weight.out) * dtype_size(DType::f32)};
  if (compute.count(work)) return;
  Product product{compute.kernels, x, weight, bias, y};
  if (x.rows == 0 || weight.out == 0) return;
  if (weight.in == 0) return no_inputs(product);
  if (weight.packed && weight.packed->integers)
    product.rounded = round_rows(compute, x, *weight.packed);
  const std::int64_t out_block = outputs_of_tile(product);
  // Rows in equal blocks; consecutive tasks share their rows.
  const std::int64_t row_block = divide_up(x.rows, divide_up(x.rows, kRowBlock));
  const std::int64_t out_blocks = divide_up(weight.out, out_block);
  const std::int64_t tiles = divide_up(x.rows, row_block) * out_blocks;
  const auto run = [&](std::int64_t tile, int) {
    compute_tile(product, tile / out_blocks * row_block, row_block, tile % out_blocks * out_block,
                 out_block);
  };
  if (x.rows * weight.out * weight.in >= kSerialWork) return compute.threads.for_blocks(tiles, run);
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(tile, 0);
}

namespace {

// A stored (in, out) weight can not be read as rows of dot products without a second copy of it.
// Instead a block of it, kMixDepth stored rows of kMixCols outputs, is widened into scratch that
// stays in the first-level cache, and every row of x adds its multiples of these lines: the sums
// run over k in ascending order, one chain per element, whatever the number of rows.
constexpr std::int64_t kMixCols = 128;  // 256 bytes of a stored bf16 row: whole cache lines
constexpr std::int64_t kMixDepth = 32;  // with kMixCols 16 KiB of float32

void compute_transposed_tile(const Product& p, std::int64_t row, std::int64_t rows,
                             std::int64_t out) noexcept {
  alignas(64) float scratch[kMixDepth * kMixCols];
  const std::int64_t in = p.weight.out;  // stored rows
  const std::int64_t cols = std::min(kMixCols, p.weight.in - out);
  const std::int64_t size = dtype_size(p.weight.dtype);
  for (std::int64_t first = 0; first < in; first += kMixDepth) {
    const std::int64_t depth = std::min(kMixDepth, in - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      p.kernels.widen(p.weight.dtype, p.weight.row(first + k) + out * size, cols,
                      scratch + k * kMixCols);
    }
    p.kernels.mix_panel({p.x.row(row) + first, p.x.stride, 1, rows, scratch, kMixCols, cols,
                         p.y.row(row) + out, p.y.stride, depth, nullptr, first == 0 ? 0.0F : 1.0F});
  }
}

}  // namespace

void matmul_transposed(Compute& compute, ConstView x, const Weight& weight, View y) noexcept {
  const Work work{2 * x.rows * weight.out * weight.in, weight.bytes(),
                  x.rows * (weight.in + weight.out) * dtype_size(DType::f32)};
  if (compute.count(work) || x.rows == 0) return;
  const Product product{compute.kernels, x, weight, nullptr, y};
  const std::int64_t row_block = divide_up(x.rows, divide_up(x.rows, kRowBlock));
  const std::int64_t col_blocks = divide_up(weight.in, kMixCols);
  const std::int64_t tiles = divide_up(x.rows, row_block) * col_blocks;
  const auto run = [&](std::int64_t tile, int) {
    const std::int64_t row = tile / col_blocks * row_block;
    compute_transposed_tile(product, row, std::min(row_block, x.rows - row),
                            tile % col_blocks * kMixCols);
  };
  if (x.rows * weight.out * weight.in >= kSerialWork) return compute.threads.for_blocks(tiles, run);
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(tile, 0);
}

void widen_row(const Weight& weight, std::int64_t index, float* out) noexcept {
  if (weight.packed && weight.packed->integers) {
    const PackedWeight& packed = *weight.packed;
    const float* steps = packed.integers.steps + index;
    for (std::int64_t k = 0; k < packed.in; ++k) {
      out[packed.columns != nullptr ? packed.columns[k] : k] =
          static_cast<float>(integer_at(packed, index, k)) *
          steps[k / kIntegerStep * packed.integers.step_stride];
    }
    return;
  }
  if (weight.packed) {
    const PackedWeight& packed = *weight.packed;
    if (packed.columns == nullptr) return kReference.unpack({&packed, index, 0, packed.in}, out);
    for (std::int64_t k = 0; k < packed.in; ++k) {
      constexpr std::int64_t kPair = 2;  // runs begin at even columns
      float pair[kPair] = {};
      const std::int64_t first = k / kPair * kPair;
      kReference.unpack({&packed, index, first, std::min(kPair, packed.in - first)}, pair);
      out[packed.columns[k]] = pair[k - first];
    }
    return;
  }
  kReference.widen(weight.dtype, weight.row(index), weight.in, out);
}

}  // namespace sightline::kernels
