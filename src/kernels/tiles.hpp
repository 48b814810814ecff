// Products of bfloat16 with bfloat16, of tile registers (AMX) or of vectors of pairs (AVX-512
// BF16): what a kernel set that has them offers beside the rest of its table. Only src/kernels/
// includes this file. Weights are read as they are stored; activations are rounded to bfloat16 and
// laid out as the registers want them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bf16.hpp"

namespace sightline::kernels {

/// Outputs, or rows of activations, of a tile.
inline constexpr std::int64_t kTileSide = 16;
/// Columns of a tile of weights: each tile product adds the products of so many.
inline constexpr std::int64_t kTileDepth = 32;
/// A row of `in` values takes so many when it is laid out.
constexpr std::int64_t tile_stride(std::int64_t in) {
  return (in + kTileDepth - 1) / kTileDepth * kTileDepth;
}
/// Most rows and outputs of one TileProduct: its sums are 64 KiB of scratch.
inline constexpr std::int64_t kTileRows = 256, kTileOutputs = 64;

/// Rounds rows to bfloat16, to nearest even, and lays them out in groups of kTileSide (the last may
/// have less), zeros behind the last column; tile_stride(in) values a row. Values that are not
/// finite stay so. With tile registers a group is [tile][kTileDepth / 2][rows][2].
struct TileRows {
  const float* x = nullptr;
  std::int64_t x_stride = 0, rows = 0, in = 0;
  bf16* out = nullptr;
};

/// y[r, o] = Σ_k x[r, k] · W[o, k] + bias[o] for rows that are laid out and bfloat16 weights as
/// stored (any alignment), in float32. Denormal operands and sums of products count as zero. The
/// same bits for any number of rows and outputs.
///
/// Tile registers: tile by tile in ascending order, the products of even columns and those of odd
/// ones are added up, each from zero, fused, in ascending order; their sum is added to that of the
/// tiles before.
///
/// Vectors: steps of 1024 columns in ascending order. Of a step, sum i of sixteen takes the columns
/// 2i + 1 and 2i of every 32, fused, in ascending order of the 32; then the sums 8 to 15 are added
/// to 0 to 7, 4 to 7 of these to 0 to 3, and so on.
struct TileProduct {
  const bf16* x = nullptr;  ///< begins with a group
  std::int64_t rows = 0;    ///< at most kTileRows
  const std::byte* w = nullptr;
  std::int64_t in = 0, outs = 0;  ///< at most kTileOutputs
  const float* bias = nullptr;    ///< of the first of these outs, or null
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

/// Entries are called from worker threads; they allocate nothing and keep no state. Registers are
/// configured and released within a call.
struct TileProducts {
  void (*lay_rows)(const TileRows& p) = nullptr;
  void (*multiply)(const TileProduct& p) = nullptr;
  /// Nothing but independent tile products, `rounds` times; returns the operations done.
  double (*multiply_adds)(std::int64_t rounds) = nullptr;
};

/// Sizes of the two tiles of weights (outputs) and of the two tiles of activations (rows) that a
/// block of four tiles of sums has; 0 for one that is not used.
struct TileShape {
  std::int64_t outs[2] = {}, rows[2] = {};
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

extern const TileProducts kPlainTiles;  // amx_twin.cpp
extern const TileProducts kPlainPairs;  // bf16_twin.cpp
#if defined(__x86_64__)
extern const TileProducts kAmxTiles;     // x86_amx.cpp
extern const TileProducts kAvx512Pairs;  // x86_avx512_bf16.cpp
#endif

}  // namespace sightline::kernels
