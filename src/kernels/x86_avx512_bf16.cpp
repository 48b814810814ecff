// Products of pairs of bfloat16 with AVX-512 BF16. bf16_twin.cpp says what each operation computes.
// The instructions stand as assembly: GCC 12 copies a sum there and back around its intrinsic.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/pair_mixes.hpp"
#include "kernels/target.hpp"
#include "kernels/tiles.hpp"

SIGHTLINE_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

namespace sightline::kernels {
namespace {

/// Needs no alignment.
struct PairLine {
  __m512i v;

  static PairLine load(const void* p) { return {_mm512_loadu_si512(p)}; }
  void store(void* p) const { _mm512_storeu_si512(p, v); }
  /// One pair in all places.
  static PairLine repeat(const bf16* pair) {
    int bits = 0;
    __builtin_memcpy(&bits, pair, sizeof bits);
    return {_mm512_set1_epi32(bits)};
  }
  /// The first, or last, 16 values of two lines in turn.
  static PairLine lower_pairs(PairLine a, PairLine b) { return pairs(a, b, 0); }
  static PairLine upper_pairs(PairLine a, PairLine b) { return pairs(a, b, 0x00100010); }
  static PairLine round(const float* x) {
    const __m512 first = _mm512_loadu_ps(x), second = _mm512_loadu_ps(x + 16);
    PairLine line;
    __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(line.v) : "v"(second), "v"(first));
    return line;
  }

 private:
  /// Values `first` + 0, 1, ... of a, each with that of b behind it.
  static PairLine pairs(PairLine a, PairLine b, int first) {
    constexpr int kOfB = 0x00200000, kTwo = 0x00010001;
    const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i index = _mm512_add_epi32(_mm512_mullo_epi32(places, _mm512_set1_epi32(kTwo)),
                                           _mm512_set1_epi32(first + kOfB));
    return {_mm512_permutex2var_epi16(a.v, index, b.v)};
  }
};

using FourFloats = __m128;

struct PairSums {
  __m512 v;

  static PairSums all(float x) { return {_mm512_set1_ps(x)}; }
  static PairSums load(const float* p) { return {_mm512_loadu_ps(p)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  [[nodiscard]] PairSums times(float x) const { return {_mm512_mul_ps(v, _mm512_set1_ps(x))}; }
  void add_products(PairLine x, PairLine w) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(v) : "v"(x.v), "v"(w.v));
  }
  static FourFloats fold(const PairSums (&sums)[4]) {
    constexpr int kEven = 0x88, kOdd = 0xdd;  // quarters of both
    const __m512 a = halves(sums[0].v, sums[1].v), b = halves(sums[2].v, sums[3].v);
    __m512 left =
        _mm512_add_ps(_mm512_shuffle_f32x4(a, b, kEven), _mm512_shuffle_f32x4(a, b, kOdd));
    left = _mm512_add_ps(left, _mm512_permute_ps(left, 0x4e));
    left = _mm512_add_ps(left, _mm512_permute_ps(left, 0xb1));
    const __m512i firsts = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, left));
  }

 private:
  /// The upper half of each added to its lower half.
  static __m512 halves(__m512 a, __m512 b) {
    constexpr int kLower = 0x44, kUpper = 0xee;
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, kLower), _mm512_shuffle_f32x4(a, b, kUpper));
  }
};

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/loops.inc.hpp"

#include "kernels/pairs.inc.hpp"

#include "kernels/pair_mixes.inc.hpp"

}  // namespace

const TileProducts kAvx512Pairs = kPairProducts;
const PairMixes kAvx512PairMixes = kPairMixes;

}  // namespace sightline::kernels

SIGHTLINE_TARGET_END

#endif  // defined(__x86_64__)
