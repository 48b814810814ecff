// Tiled attention with online softmax over keys and values that lie in blocks of 64 positions.
// Causal: the language layers, over the blocks of a cache. Memory does not grow with rows x
// positions.
#pragma once

#include <cstdint>

#include "base/mat.hpp"
#include "kernels/compute.hpp"
#include "sightline/tensor.hpp"

namespace sightline::kernels {

/// Keys and values. Block b holds positions [64 b, 64 b + 64) as [kv_heads][64][head_dim], dense,
/// of type `dtype` (f32 or bf16). Positions >= length in the last block are never read.
struct KvBlocks {
  const std::byte* const* keys = nullptr;
  const std::byte* const* values = nullptr;
  DType dtype = DType::f32;
  std::int64_t length = 0;
};

struct AttentionShape {
  std::int64_t heads = 0, kv_heads = 0,
               head_dim = 0;  ///< query head j reads key head j div (heads / kv_heads)
  float scale = 1;            ///< multiplies the scores
};

/// out[r, h] = Σ_p softmax_p(scale · q[r, h]·k[p]) v[p], over p <= first_position + r and < length.
/// q and out (rows, heads · head_dim); out must not overlap q.
/// Blocks are visited in ascending order for every row, so a row's bits do not depend on the rows
/// beside it, on threads, or on how a prompt was cut. Stops early, leaving out unspecified, when
/// compute.cancelled(). Throws Error(memory_limit) without scratch memory.
void attention(Compute& compute, const AttentionShape& shape, ConstView q,
               std::int64_t first_position, const KvBlocks& kv, View out);

/// Writes rows of x (rows, kv_heads · head_dim) as positions [first, first + rows) into blocks of
/// type `dtype` (rounding to nearest even for bf16). blocks[b] as in KvBlocks.
void store_kv(ConstView x, std::int64_t kv_heads, std::int64_t first, DType dtype,
              std::byte* const* blocks) noexcept;

/// What store_kv() does, for callers that count instead.
Work store_work(ConstView x, DType dtype) noexcept;

}  // namespace sightline::kernels
