// Products of pairs of bfloat16 in plain C++: the loops of the AVX-512 set with BF16, and its bits,
// on any machine. What the instructions compute stands here.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/pair_mixes.hpp"
#include "kernels/plain_tiles.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

/// 32 values of bfloat16.
struct PairLine {
  bf16 values[32];

  static PairLine load(const void* p) {
    PairLine line;
    std::memcpy(line.values, p, sizeof line.values);
    return line;
  }
  void store(void* p) const { std::memcpy(p, values, sizeof values); }
  /// One pair in all places.
  static PairLine repeat(const bf16* pair) {
    PairLine line;
    for (std::int64_t i = 0; i < 32; ++i) line.values[i] = pair[i % 2];
    return line;
  }
  /// The first, or last, 16 values of two lines in turn.
  static PairLine lower_pairs(const PairLine& a, const PairLine& b) { return pairs(a, b, 0); }
  static PairLine upper_pairs(const PairLine& a, const PairLine& b) { return pairs(a, b, 16); }
  static PairLine pairs(const PairLine& a, const PairLine& b, std::int64_t first) {
    PairLine line;
    for (std::int64_t i = 0; i < 32; ++i)
      line.values[i] = (i % 2 == 0 ? a : b).values[first + i / 2];
    return line;
  }
  /// To nearest even; denormal numbers become zero before.
  static PairLine round(const float* x) {
    PairLine line;
    for (std::int64_t i = 0; i < 32; ++i) line.values[i] = to_bf16(read_in_tile(x[i]));
    return line;
  }
};

using FourFloats = float __attribute__((vector_size(16)));

/// Sixteen sums.
struct PairSums {
  float v[16];

  static PairSums all(float x) {
    PairSums sums;
    for (float& sum : sums.v) sum = x;
    return sums;
  }
  static PairSums load(const float* p) {
    PairSums sums;
    std::memcpy(sums.v, p, sizeof sums.v);
    return sums;
  }
  void store(float* p) const { std::memcpy(p, v, sizeof v); }
  [[nodiscard]] PairSums times(float x) const {
    PairSums product;
    for (std::int64_t i = 0; i < 16; ++i) product.v[i] = v[i] * x;
    return product;
  }
  /// To each sum the product of the second values of a pair, then that of the first ones: two fused
  /// steps that know no denormal numbers (VDPBF16PS; that the second values come first is how the
  /// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, writes it down).
  void add_products(const PairLine& x, const PairLine& w) {
    for (std::int64_t i = 0; i < 16; ++i) {
      for (std::int64_t k = 2 * i + 1; k >= 2 * i; --k) {
        v[i] = multiply_add_in_tile(read_in_tile(widen(x.values[k])),
                                    read_in_tile(widen(w.values[k])), read_in_tile(v[i]));
      }
    }
  }
  /// The sum of each: upper half added to lower half until one is left.
  static FourFloats fold(const PairSums (&sums)[4]) {
    FourFloats whole;
    for (int s = 0; s < 4; ++s) {
      PairSums left = sums[s];
      for (std::int64_t half = 8; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) left.v[i] += left.v[i + half];
      }
      whole[s] = left.v[0];
    }
    return whole;
  }
};

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/loops.inc.hpp"

#include "kernels/pairs.inc.hpp"

#include "kernels/pair_mixes.inc.hpp"

}  // namespace

const TileProducts kPlainPairs = kPairProducts;
const PairMixes kPlainPairMixes = kPairMixes;

}  // namespace sightline::kernels
