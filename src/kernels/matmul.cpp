// y = x Wᵀ + b and y = x W, written once over the kernel table: threads take tiles of (rows,
// outputs) and read the stored weights directly. The reduction is never split, and every element is
// summed in one order: see kDotStep.
#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/byte_matmul.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"
#include "kernels/tile_matmul.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kRowBlock =
    144;  // rows of a tile: 144 x 2 KiB of a step stay in the second-level cache (512 KiB on Zen 3)
constexpr std::int64_t kOutBlock = 16;  // outputs of a tile: at least these,
constexpr std::int64_t kMostOuts =
    64;  // for many rows up to these, so that a step of the rows is read again from that cache
constexpr std::int64_t kTilesPerThread = 4;  // unless threads would go without work
constexpr std::int64_t kGroupedRows = 24;    // from here on putting rows into groups pays
constexpr std::int64_t kGroupedFloats =
    std::int64_t{1} << 22;             // grouped at a time: 16 MiB, beside activations of any size
constexpr std::int64_t kFewRows = 16;  // up to here tiles are smaller,
constexpr std::int64_t kFewOuts = 32;  // since they do less with their weights

/// Rounded rows (kernels: round_step).
struct Rounded {
  const std::byte* x = nullptr;
  std::int64_t stride = 0;  ///< bytes of a row
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
  const float* groups = nullptr;  ///< of the rows, block after block (GroupRows)
  std::int64_t padded = 0;        ///< floats of a row in them
};

/// The part of y from (row, out) of at most `rows` x `outs`.
void compute_tile(const Product& p, std::int64_t row, std::int64_t rows, std::int64_t out,
                  std::int64_t outs) noexcept {
  const float* groups = p.groups != nullptr ? p.groups + row * p.padded : nullptr;
  if (p.rounded.x != nullptr) {
    return p.kernels.dot_integers(
        {p.rounded.x + row * p.rounded.stride, p.rounded.stride, std::min(rows, p.x.rows - row),
         p.rounded.scales + row * p.rounded.steps, p.rounded.steps, p.weight.packed.get(), out,
         std::min(outs, p.weight.out - out), p.bias != nullptr ? p.bias + out : nullptr,
         p.y.row(row) + out, p.y.stride, reinterpret_cast<const std::byte*>(groups)});
  }
  if (p.weight.packed) {
    return p.kernels.dot_packed({p.x.row(row), p.x.stride, std::min(rows, p.x.rows - row),
                                 p.weight.packed.get(), out, std::min(outs, p.weight.out - out),
                                 p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out,
                                 p.y.stride, groups});
  }
  p.kernels.dot_stored({p.x.row(row), p.x.stride, std::min(rows, p.x.rows - row), p.weight.row(out),
                        p.weight.dtype, p.weight.in, std::min(outs, p.weight.out - out),
                        p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out, p.y.stride,
                        groups});
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

/// Bytes of a rounded row.
std::int64_t integer_stride(const PackedWeight& weight) {
  return round_up(weight.in, activation_pad(weight.code)) * activation_bytes(weight.code);
}

/// Rows rounded for a weight in integer form, step by step.
Rounded round_rows(Compute& compute, ConstView x, const PackedWeight& weight) {
  const std::int64_t steps = integer_steps(x.cols);
  const std::int64_t stride = integer_stride(weight), size = activation_bytes(weight.code);
  auto* integers = compute.arena.array<std::byte>(x.rows * stride);
  auto* scales = compute.arena.array<float>(x.rows * steps);
  for_row_blocks(compute, x.rows, x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t s = 0; s < steps; ++s) {
        const std::int64_t first = s * kIntegerStep;
        scales[r * steps + s] =
            compute.kernels.round_step(x.row(r) + first, std::min(kIntegerStep, x.cols - first),
                                       weight.code, integers + r * stride + first * size);
      }
    }
  });
  return {integers, stride, scales, steps};
}

/// Rows of a group.
std::int64_t group_size(const Kernels& kernels, const Weight& weight) {
  if (!weight.packed || !weight.packed->integers) return kernels.groups.floats;
  return weight.packed->code == PackedCode::u4 ? kernels.groups.bytes : kernels.groups.integers;
}

/// Rows of a block: equal ones, whole groups.
std::int64_t block_rows(std::int64_t rows, std::int64_t group) {
  return round_up(divide_up(rows, divide_up(rows, kRowBlock)), group);
}

/// Outputs of a tile. For one row, a task of packed weights reads as much as one of stored ones.
std::int64_t outputs_of_tile(const Product& p, std::int64_t row_blocks, std::int64_t threads) {
  if (p.x.rows <= kFewRows) return p.rounded.x != nullptr ? 4 * kFewOuts : kFewOuts;
  if (p.groups == nullptr) return kOutBlock;
  std::int64_t outs = kMostOuts;
  while (outs > kOutBlock && row_blocks * divide_up(p.weight.out, outs) < kTilesPerThread * threads)
    outs /= 2;
  return outs;
}

/// All tiles of a product; consecutive tasks share their rows.
void compute_product(Compute& compute, const Product& p, std::int64_t row_block) {
  const std::int64_t row_blocks = divide_up(p.x.rows, row_block);
  const std::int64_t out_block = outputs_of_tile(p, row_blocks, compute.threads.count());
  const std::int64_t out_blocks = divide_up(p.weight.out, out_block);
  const auto run = [&](std::int64_t tile, int) {
    compute_tile(p, tile / out_blocks * row_block, row_block, tile % out_blocks * out_block,
                 out_block);
  };
  const std::int64_t tiles = row_blocks * out_blocks;
  if (p.x.rows * p.weight.out * p.weight.in >= kSerialWork)
    return compute.threads.for_blocks(tiles, run);
  for (std::int64_t tile = 0; tile < tiles; ++tile) run(tile, 0);
}

/// The rows of p in groups, step by step, block after block of `row_block` rows.
void group_blocks(Compute& compute, const Product& p, std::int64_t row_block, float* groups) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const bool rounded = p.rounded.x != nullptr;
  const std::int64_t width = rounded ? p.rounded.stride / kFloat : p.x.cols;
  const std::int64_t step =
      rounded ? kDotStep * activation_bytes(p.weight.packed->code) / kFloat : kDotStep;
  const std::int64_t stride = rounded ? p.rounded.stride / kFloat : p.x.stride;
  const float* x = rounded ? reinterpret_cast<const float*>(p.rounded.x) : p.x.data;
  const std::int64_t steps = divide_up(width, step), size = group_size(p.kernels, p.weight);
  compute.threads.for_blocks(divide_up(p.x.rows, row_block) * steps, [&](std::int64_t task, int) {
    const std::int64_t row = task / steps * row_block, first = task % steps * step;
    const std::int64_t rows = std::min(row_block, p.x.rows - row);
    compute.kernels.group_rows({x + row * stride + first, stride, rows,
                                std::min(step, width - first), size,
                                groups + row * p.padded + round_up(rows, size) * first});
  });
}

/// Many rows: so many at a time that their groups stay small beside the activations.
void multiply_grouped(Compute& compute, const Product& all, float* groups,
                      std::int64_t rows_at_once) {
  for (std::int64_t row = 0; row < all.x.rows; row += rows_at_once) {
    Product p = all;
    const std::int64_t rows = std::min(rows_at_once, all.x.rows - row);
    p.x = ConstView(all.x.row(row), rows, all.x.cols, all.x.stride);
    p.y = View(all.y.row(row), rows, all.y.cols, all.y.stride);
    if (p.rounded.x != nullptr) {
      p.rounded.x += row * p.rounded.stride;
      p.rounded.scales += row * p.rounded.steps;
    }
    p.groups = groups;
    const std::int64_t row_block = block_rows(rows, group_size(all.kernels, all.weight));
    group_blocks(compute, p, row_block, groups);
    compute_product(compute, p, row_block);
  }
}

}  // namespace

void matmul(Compute& compute, ConstView rows, const Weight& weight, const float* bias,
            View y) noexcept {
  if (takes_tiles(compute, weight)) return tile_matmul(compute, rows, weight, bias, y);
  const ArenaScope scope(compute.arena);
  const ConstView x = in_packed_order(compute, rows, weight);
  if (takes_bytes(compute, weight, x.rows)) return byte_matmul(compute, x, weight, bias, y);
  Product product{compute.kernels, x, weight, bias, y};
  const bool integers = weight.packed && weight.packed->integers;
  product.padded = integers
                       ? integer_stride(*weight.packed) / static_cast<std::int64_t>(sizeof(float))
                       : round_up(weight.in, compute.kernels.lanes);
  const bool grouped =
      x.rows >= kGroupedRows && weight.in > 0 && compute.kernels.group_rows != nullptr;
  const std::int64_t at_once = kGroupedFloats / std::max<std::int64_t>(product.padded, 1);
  const std::int64_t rows_at_once =
      std::min(x.rows, std::max(at_once / kRowBlock, std::int64_t{1}) * kRowBlock);
  const std::int64_t group = group_size(compute.kernels, weight);
  float* groups = grouped
                      ? compute.arena.array<float>(round_up(rows_at_once, group) * product.padded)
                      : nullptr;
  const Work work{2 * x.rows * weight.out * weight.in, weight.bytes(),
                  x.rows * (weight.in + weight.out) * dtype_size(DType::f32)};
  if (compute.count(work)) return;
  if (x.rows == 0 || weight.out == 0) return;
  if (weight.in == 0) return no_inputs(product);
  if (integers) product.rounded = round_rows(compute, x, *weight.packed);
  if (grouped) return multiply_grouped(compute, product, groups, rows_at_once);
  compute_product(compute, product, divide_up(x.rows, divide_up(x.rows, kRowBlock)));
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
