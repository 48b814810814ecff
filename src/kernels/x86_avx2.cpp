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
  static constexpr int kGroup = 3;           // rows of a register tile of four outputs
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

/// Sixteen 16-bit integers, or eight sums of 32 bits.
struct Ints {
  static constexpr std::int64_t kLanes = 16;
  static constexpr int kGroup = 2;  // rows of a register tile of four outputs
  __m256i v;

  SIGHTLINE_INLINE Ints zero() { return {_mm256_setzero_si256()}; }
  SIGHTLINE_INLINE Ints all(std::int16_t x) { return {_mm256_set1_epi16(x)}; }
  SIGHTLINE_INLINE Ints load(const std::int16_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  [[gnu::always_inline]] inline void store(std::int16_t* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  /// Each sum with the products of two neighbours added. Two instructions that stay together: left
  /// to itself, the compiler forms many products before it adds the first, and runs out of
  /// registers.
  SIGHTLINE_INLINE void add_products(Ints a, Ints b, Ints& sum) {
    __m256i product, sums = sum.v;
    asm("vpmaddwd %[b], %[a], %[product]\n\tvpaddd %[product], %[sums], %[sums]"
        : [sums] "+x"(sums), [product] "=&x"(product)
        : [a] "x"(a.v), [b] "x"(b.v));
    sum.v = sums;
  }
  /// (a · b + 2^14) >> 15
  SIGHTLINE_INLINE Ints scaled(Ints a, Ints b) { return {_mm256_mulhrs_epi16(a.v, b.v)}; }

  /// A chunk of bytes, (code − zero) << shift (IntegerForm). Order of the columns: 0-7 and 16-23,
  /// then 8-15 and 24-31.
  template <class Kind>
  SIGHTLINE_INLINE void load_codes(const std::byte* p, Ints zero, Ints (&out)[2]) {
    __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i none = _mm256_setzero_si256();
    if constexpr (Kind::kStoredZero) {
      const auto one = [&](__m256i codes) {
        return _mm256_slli_epi16(_mm256_sub_epi16(codes, zero.v), 7);
      };
      out[0].v = one(_mm256_unpacklo_epi8(bytes, none));
      out[1].v = one(_mm256_unpackhi_epi8(bytes, none));
    } else {
      if constexpr (Kind::kCode == PackedCode::u8)
        bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(0x80)));
      out[0].v = _mm256_unpacklo_epi8(none, bytes);
      out[1].v = _mm256_unpackhi_epi8(none, bytes);
    }
  }

  /// A chunk of values times `factor`, to the nearest integers, in the order of load_codes().
  SIGHTLINE_INLINE void round_chunk(const float* x, Vec factor, std::int16_t* out) {
    const auto eight = [&](int i) {
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor.v));
    };
    // Packing takes halves in turn: 0-3, 8-11, 4-7, 12-15.
    const auto sixteen = [&](int i) {
      return _mm256_permute4x64_epi64(_mm256_packs_epi32(eight(i), eight(i + 1)),
                                      _MM_SHUFFLE(3, 1, 2, 0));
    };
    const __m256i a = sixteen(0), b = sixteen(2);
    Ints{_mm256_permute2x128_si256(a, b, 0x20)}.store(out);
    Ints{_mm256_permute2x128_si256(a, b, 0x31)}.store(out + kLanes);
  }

  SIGHTLINE_INLINE __m256d doubles(__m256i pairs) {
    return _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(pairs)),
                         _mm256_cvtepi32_pd(_mm256_extracti128_si256(pairs, 1)));
  }
  /// The exact sums of four times eight lanes, each rounded to float32 once. Sums of two lanes fit
  /// into 32 bits (kMostActivation).
  SIGHTLINE_INLINE void reduce4(Ints a, Ints b, Ints c, Ints d, float* out) {
    const __m256d ab = doubles(_mm256_hadd_epi32(a.v, b.v));
    const __m256d cd = doubles(_mm256_hadd_epi32(c.v, d.v));
    const __m256d sums = _mm256_permute4x64_pd(_mm256_hadd_pd(ab, cd), _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_ps(out, _mm256_cvtpd_ps(sums));
  }
};

/// 32 bytes, or sixteen 16-bit integers, or eight sums of 32 bits.
struct Bytes {
  static constexpr std::int64_t kLanes = 32, kChunks = kLanes / kIntegerChunk;
  static constexpr int kGroup = 3;  // rows of a register tile of four outputs
  static constexpr bool kSplits = false;
  __m256i v;

  SIGHTLINE_INLINE Bytes zero() { return {_mm256_setzero_si256()}; }
  SIGHTLINE_INLINE Bytes load(const std::byte* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  [[gnu::always_inline]] inline void store(std::byte* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  /// The first chunk's value for every pair of its codes, then the second's, which a set of one
  /// chunk ignores.
  SIGHTLINE_INLINE Bytes pairs(std::int16_t first, std::int16_t) {
    return {_mm256_set1_epi16(first)};
  }
  SIGHTLINE_INLINE Bytes bytes(std::uint8_t first, std::uint8_t) {
    return {_mm256_set1_epi8(static_cast<char>(first))};
  }

  /// 4-bit codes less their zero points: those of even columns, then those of odd ones.
  SIGHTLINE_INLINE Bytes load_codes(const std::byte* p, Bytes zero) {
    const __m256i twice =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i moved = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 0, 4, 4));
    return {_mm256_sub_epi8(_mm256_and_si256(moved, _mm256_set1_epi8(15)), zero.v)};
  }

  /// Adds to each sum the products of four neighbours, times their ratios. Instructions that stay
  /// together, see Ints::add_products.
  SIGHTLINE_INLINE void add_products(Bytes x, Bytes codes, Bytes ratios, Bytes& sum) {
    __m256i product, sums = sum.v;
    asm("vpmaddubsw %[c], %[x], %[p]\n\tvpmaddwd %[r], %[p], %[p]\n\tvpaddd %[p], %[s], %[s]"
        : [s] "+x"(sums), [p] "=&x"(product)
        : [x] "x"(x.v), [c] "x"(codes.v), [r] "x"(ratios.v));
    sum.v = sums;
  }
  SIGHTLINE_INLINE void add_products(Bytes x, const std::byte* codes, const std::byte* ratios,
                                     Bytes& sum) {
    __m256i product, sums = sum.v;
    asm("vpmaddubsw %[c], %[x], %[p]\n\tvpmaddwd %[r], %[p], %[p]\n\tvpaddd %[p], %[s], %[s]"
        : [s] "+x"(sums), [p] "=&x"(product)
        : [x] "x"(x.v), [c] "m"(at(codes)), [r] "m"(at(ratios)));
    sum.v = sums;
  }
  /// The same for two runs that share their ratios.
  SIGHTLINE_INLINE void add_pairs(Bytes a, Bytes b, const std::byte* a_codes,
                                  const std::byte* b_codes, const std::byte* ratios, Bytes& sum) {
    __m256i product, other, sums = sum.v;
    asm("vpmaddubsw %[ac], %[a], %[p]\n\tvpmaddubsw %[bc], %[b], %[o]\n\t"
        "vpaddw %[o], %[p], %[p]\n\tvpmaddwd %[r], %[p], %[p]\n\tvpaddd %[p], %[s], %[s]"
        : [s] "+x"(sums), [p] "=&x"(product), [o] "=&x"(other)
        : [a] "x"(a.v), [b] "x"(b.v), [ac] "m"(at(a_codes)), [bc] "m"(at(b_codes)),
          [r] "m"(at(ratios)));
    sum.v = sums;
  }
  SIGHTLINE_INLINE const __m256i_u& at(const std::byte* p) {
    return *reinterpret_cast<const __m256i_u*>(p);
  }

  /// Values times `factor` to the nearest integers, plus kByteMiddle, in the order of load_codes().
  SIGHTLINE_INLINE Bytes round(const float* x, Vec factor) {
    const auto eight = [&](int i) {
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor.v));
    };
    // Packing takes quarters in turn: columns 0-3, 8-11, … in one half, 4-7, 12-15, … in the other.
    const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(eight(0), eight(1)),
                                              _mm256_packs_epi32(eight(2), eight(3)));
    const __m256i apart = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,  //
                                           0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(packed, apart),
                                                    _MM_SHUFFLE(3, 1, 2, 0));  // even, odd
    const __m256i turns = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                                           0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    return {_mm256_xor_si256(_mm256_shuffle_epi8(halves, turns),
                             _mm256_set1_epi8(static_cast<char>(kByteMiddle)))};
  }
  /// These bytes where `other` is odd, else zeros.
  [[gnu::always_inline]] inline Bytes if_odd(Bytes other) const {
    const __m256i odd = _mm256_and_si256(other.v, _mm256_set1_epi8(1));
    return {_mm256_and_si256(v, _mm256_sub_epi8(_mm256_setzero_si256(), odd))};
  }

  /// The sums of four times eight lanes, modulo 2^32.
  SIGHTLINE_INLINE void reduce4(Bytes a, Bytes b, Bytes c, Bytes d, std::int32_t* out) {
    const __m256i sums =
        _mm256_hadd_epi32(_mm256_hadd_epi32(a.v, b.v), _mm256_hadd_epi32(c.v, d.v));
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
  }
};

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/math.inc.hpp"

#include "kernels/rows.inc.hpp"

#include "kernels/loops.inc.hpp"

#include "kernels/groups.inc.hpp"

#include "kernels/panels.inc.hpp"

#include "kernels/packed.inc.hpp"

#include "kernels/integers.inc.hpp"

#include "kernels/nibbles.inc.hpp"

#include "kernels/make_table.inc.hpp"

}  // namespace

const Kernels kAvx2 = make_table("avx2", "avx2 fma f16c");

}  // namespace sightline::kernels

SIGHTLINE_TARGET_END

#endif  // defined(__x86_64__)
