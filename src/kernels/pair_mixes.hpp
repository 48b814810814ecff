// Weighted sums of rows of bfloat16 in vectors of pairs: what attention multiplies where a kernel
// set has such products. Only src/kernels/ includes this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bf16.hpp"

namespace sightline::kernels {

/// Columns of a panel of pairs are padded with zeros to a multiple of it.
inline constexpr std::int64_t kPairColumns = 16;

/// c[r, d] = keep · c[r, d] + Σ_p a[r, p] · b[p, d] with keep = row_scale[r] (0, or no row_scale:
/// overwrites whatever c held). Of each pair of p the second product is added before the first,
/// pairs in ascending order, each step fused; denormal operands and sums count as zero. The same
/// bits for any number of rows and columns.
struct PairMix {
  const bf16* a = nullptr;
  std::int64_t a_stride = 0, rows = 0;
  const bf16* b = nullptr;  ///< [depth / 2][cols][2]
  std::int64_t cols = 0;    ///< a multiple of kPairColumns
  float* c = nullptr;
  std::int64_t c_stride = 0, depth = 0;  ///< even
  const float* row_scale = nullptr;
};

/// Entries are called from worker threads; they allocate nothing and keep no state.
struct PairMixes {
  /// n values to nearest even, zeros behind them to a multiple of tile_stride(). Denormal numbers
  /// may become zero.
  void (*round)(const float* x, std::int64_t n, bf16* out) = nullptr;
  void (*mix)(const PairMix& p) = nullptr;
  /// Two rows of n values of bfloat16 (any alignment; the second may be null: zeros) as a row of a
  /// panel: out[d] = {first[d], second[d]}, zeros behind them to a multiple of kPairColumns.
  void (*pair)(const std::byte* first, const std::byte* second, std::int64_t n,
               bf16* out) = nullptr;
};

extern const PairMixes kPlainPairMixes;  // bf16_twin.cpp
#if defined(__x86_64__)
extern const PairMixes kAvx512PairMixes;  // x86_avx512_bf16.cpp
#endif

}  // namespace sightline::kernels
