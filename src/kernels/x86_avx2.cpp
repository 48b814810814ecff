// The AVX2 set: eight float lanes, fused multiply-add, F16C.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/table.hpp"
#include "kernels/target.hpp"

SIGHTLINE_TARGET_BEGIN("avx2,fma,f16c")

namespace sightline::kernels {
namespace {

#define SIGHTLINE_INLINE [[gnu::always_inline]] static inline

/// Eight floats. Loads and stores need no alignment.
struct Vec {
  static constexpr std::int64_t kLanes = 8;
  static constexpr float kFloat8Unit = 256;  // 2^(15 - 7), see load_codes
  __m256 v;

  SIGHTLINE_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
  SIGHTLINE_INLINE Vec all(float x) { return {_mm256_set1_ps(x)}; }
  SIGHTLINE_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  SIGHTLINE_INLINE Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec div(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }

  // A NaN in x stays: these instructions return their second operand then.
  SIGHTLINE_INLINE Vec at_least(Vec x, Vec low) { return {_mm256_max_ps(low.v, x.v)}; }
  SIGHTLINE_INLINE Vec at_most(Vec x, Vec high) { return {_mm256_min_ps(high.v, x.v)}; }
  SIGHTLINE_INLINE Vec absolute(Vec x) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), x.v)}; }
  /// By the sign bit of x.
  SIGHTLINE_INLINE Vec if_negative(Vec x, Vec yes, Vec no) {
    return {_mm256_blendv_ps(no.v, yes.v, x.v)};
  }
  /// x with the lower 12 bits of its significand cleared: its square is exact.
  SIGHTLINE_INLINE Vec upper_half(Vec x) {
    return {_mm256_and_ps(x.v, _mm256_castsi256_ps(_mm256_set1_epi32(-4096)))};
  }
  /// f 2^n for integers n in [-151, 129], in two factors: each is a normal number, and the result
  /// is rounded once.
  SIGHTLINE_INLINE Vec times_power(Vec f, Vec n) {
    const __m256i exponent = _mm256_cvtps_epi32(n.v);
    const __m256i half = _mm256_srai_epi32(exponent, 1);
    return mul(mul(f, power(half)), power(_mm256_sub_epi32(exponent, half)));
  }
  SIGHTLINE_INLINE Vec power(__m256i exponent) {
    return {_mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23))};
  }

  /// The first `count` lanes (1 to 8) set, in the form that masked loads and stores take.
  SIGHTLINE_INLINE __m256i first(std::int64_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
  }
  /// The other lanes are zero and not read.
  SIGHTLINE_INLINE Vec load_first(const float* p, std::int64_t count) {
    return {_mm256_maskload_ps(p, first(count))};
  }
  [[gnu::always_inline]] inline void store(float* p) const { _mm256_storeu_ps(p, v); }
  [[gnu::always_inline]] inline void store_first(float* p, std::int64_t count) const {
    _mm256_maskstore_ps(p, first(count), v);
  }

  /// Eight stored values, widened exactly.
  template <DType D>
  SIGHTLINE_INLINE Vec load_stored(const std::byte* p) {
    if constexpr (D == DType::f32) {
      return {_mm256_loadu_ps(reinterpret_cast<const float*>(p))};
    } else {
      const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      if constexpr (D == DType::f16) return {_mm256_cvtph_ps(bits)};
      return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
    }
  }

  /// Eight codes of a packed row, as floats. `f8_e4m3` comes divided by kFloat8Unit.
  template <PackedCode C>
  SIGHTLINE_INLINE Vec load_codes(const std::byte* p) {
    if constexpr (C ==
                  PackedCode::u4) {  // element i is the i-th half byte of the little-endian word
      std::int32_t word;
      __builtin_memcpy(&word, p, sizeof word);
      const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
      const __m256i halves = _mm256_srlv_epi32(_mm256_set1_epi32(word), shifts);
      return {_mm256_cvtepi32_ps(_mm256_and_si256(halves, _mm256_set1_epi32(15)))};
    } else {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
      if constexpr (C == PackedCode::u8) return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))};
      if constexpr (C == PackedCode::i8) return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))};
      // Exponent and fraction, moved, are those of a half-precision number of the other bias.
      const __m128i moved = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), 7);
      const __m128i magnitude = _mm_set1_epi16(0x3f80);
      const __m128i nan = _mm_cmpeq_epi16(_mm_and_si128(moved, magnitude), magnitude);
      const __m128i half = _mm_and_si128(moved, _mm_set1_epi16(static_cast<short>(0xbfff)));
      return {_mm256_cvtph_ps(_mm_or_si128(half, nan))};
    }
  }
  /// Widened by the F16C instruction: no branch on the kind of number.
  SIGHTLINE_INLINE float half(std::uint16_t bits) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
  }

  /// c[i] (+)= the sum of the lanes of the i-th vector, for i < count <= 4:
  /// ((l0 + l1) + (l2 + l3)) + ((l4 + l5) + (l6 + l7)).
  SIGHTLINE_INLINE void reduce4(Vec a, Vec b, Vec c, Vec d, float* out, int count,
                                bool accumulate) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a.v, b.v), _mm256_hadd_ps(c.v, d.v));
    __m128 sums = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
    if (count == 4) {
      if (accumulate) sums = _mm_add_ps(_mm_loadu_ps(out), sums);
      return _mm_storeu_ps(out, sums);
    }
    alignas(16) float values[4];
    _mm_store_ps(values, sums);
    for (int i = 0; i < count; ++i) out[i] = accumulate ? out[i] + values[i] : values[i];
  }
};

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/math.inc.hpp"

#include "kernels/rows.inc.hpp"

#include "kernels/panels.inc.hpp"

#include "kernels/packed.inc.hpp"

#include "kernels/make_table.inc.hpp"

}  // namespace

const Kernels kAvx2 = make_table("avx2", "avx2 fma f16c");

}  // namespace sightline::kernels

SIGHTLINE_TARGET_END

#endif  // defined(__x86_64__)
