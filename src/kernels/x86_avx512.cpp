// The AVX-512 set: sixteen float lanes. x86_avx512_vnni.cpp compiles this file once more, for
// processors that add up products of integers in one instruction (SIGHTLINE_AVX512_VNNI); tests
// compile both with a twin of these instructions in plain C++ (SIGHTLINE_AVX512_TWIN names its
// header), so that any machine tests them.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/bytes.hpp"
#include "kernels/table.hpp"
#include "kernels/target.hpp"

#if defined(SIGHTLINE_AVX512_TWIN)
SIGHTLINE_TARGET_BEGIN("avx2,fma,f16c")
#elif defined(SIGHTLINE_AVX512_VNNI)
SIGHTLINE_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#else
SIGHTLINE_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace sightline::kernels {
namespace {

#define SIGHTLINE_INLINE [[gnu::always_inline]] static inline

#if defined(SIGHTLINE_AVX512_TWIN)
#include SIGHTLINE_AVX512_TWIN
#endif

/// Sixteen floats. Loads and stores need no alignment.
struct Vec {
  static constexpr std::int64_t kLanes = 16;
  static constexpr int kGroup = 4;           // rows of a register tile of four outputs
  static constexpr float kFloat8Unit = 256;  // 2^(15 - 7), see load_codes
  __m512 v;

  SIGHTLINE_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
  SIGHTLINE_INLINE Vec all(float x) { return {_mm512_set1_ps(x)}; }
  SIGHTLINE_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  SIGHTLINE_INLINE Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec div(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }

  // A NaN in x stays: these instructions return their second operand then.
  SIGHTLINE_INLINE Vec at_least(Vec x, Vec low) { return {_mm512_max_ps(low.v, x.v)}; }
  SIGHTLINE_INLINE Vec at_most(Vec x, Vec high) { return {_mm512_min_ps(high.v, x.v)}; }
  SIGHTLINE_INLINE Vec absolute(Vec x) { return masked(x, 0x7fffffff); }
  /// By the sign bit of x.
  SIGHTLINE_INLINE Vec if_negative(Vec x, Vec yes, Vec no) {
    const __mmask16 negative =
        _mm512_cmplt_epi32_mask(_mm512_castps_si512(x.v), _mm512_setzero_si512());
    return {_mm512_mask_blend_ps(negative, no.v, yes.v)};
  }
  /// x with the lower 12 bits of its significand cleared: its square is exact.
  SIGHTLINE_INLINE Vec upper_half(Vec x) { return masked(x, -4096); }
  SIGHTLINE_INLINE Vec masked(Vec x, std::int32_t bits) {
    return {
        _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x.v), _mm512_set1_epi32(bits)))};
  }
  /// f 2^n for integers n in [-151, 129], in two factors: each is a normal number, and the result
  /// is rounded once.
  SIGHTLINE_INLINE Vec times_power(Vec f, Vec n) {
    const __m512i exponent = _mm512_cvtps_epi32(n.v);
    const __m512i half = _mm512_srai_epi32(exponent, 1);
    return mul(mul(f, power(half)), power(_mm512_sub_epi32(exponent, half)));
  }
  SIGHTLINE_INLINE Vec power(__m512i exponent) {
    return {_mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(exponent, _mm512_set1_epi32(127)), 23))};
  }

  /// The first `count` lanes (1 to 16).
  SIGHTLINE_INLINE __mmask16 first(std::int64_t count) {
    return static_cast<__mmask16>(0xffffU >> static_cast<unsigned>(kLanes - count));
  }
  /// The other lanes are zero and not read.
  SIGHTLINE_INLINE Vec load_first(const float* p, std::int64_t count) {
    return {_mm512_maskz_loadu_ps(first(count), p)};
  }
  [[gnu::always_inline]] inline void store(float* p) const { _mm512_storeu_ps(p, v); }
  [[gnu::always_inline]] inline void store_first(float* p, std::int64_t count) const {
    _mm512_mask_storeu_ps(p, first(count), v);
  }

  /// Sixteen stored values, widened exactly.
  template <DType D>
  SIGHTLINE_INLINE Vec load_stored(const std::byte* p) {
    if constexpr (D == DType::f32) {
      return {_mm512_loadu_ps(reinterpret_cast<const float*>(p))};
    } else {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      if constexpr (D == DType::f16) return {halves(bits)};
      return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
    }
  }
  SIGHTLINE_INLINE __m512 halves(__m256i bits) {
    const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(bits));
    const __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(bits, 1));
    return joined(low, high);
  }
  SIGHTLINE_INLINE __m512 joined(__m256 low, __m256 high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
  }

  /// Sixteen codes of a packed row, as floats. `f8_e4m3` comes divided by kFloat8Unit.
  template <PackedCode C>
  SIGHTLINE_INLINE Vec load_codes(const std::byte* p) {
    if constexpr (C == PackedCode::u4) {
      return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(half_bytes(p)))};
    } else {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      if constexpr (C == PackedCode::u8) return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))};
      if constexpr (C == PackedCode::i8) return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
      // Exponent and fraction, moved, are those of a half-precision number of the other bias.
      const __m256i moved = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
      const __m256i magnitude = _mm256_set1_epi16(0x3f80);
      const __m256i nan = _mm256_cmpeq_epi16(_mm256_and_si256(moved, magnitude), magnitude);
      const __m256i half = _mm256_and_si256(moved, _mm256_set1_epi16(static_cast<short>(0xbfff)));
      return {halves(_mm256_or_si256(half, nan))};
    }
  }
  /// Sixteen half bytes, each in a byte: element i is the i-th of the little-endian words.
  SIGHTLINE_INLINE __m128i half_bytes(const std::byte* p) {
    const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m128i low = _mm_set1_epi8(15);
    return _mm_unpacklo_epi8(_mm_and_si128(both, low), _mm_and_si128(_mm_srli_epi16(both, 4), low));
  }
  /// Widened by the F16C instruction: no branch on the kind of number.
  SIGHTLINE_INLINE float half(std::uint16_t bits) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
  }

  /// Lanes i and i + 8 added.
  SIGHTLINE_INLINE __m256 folded(Vec a) {
    return _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  }
  /// c[i] (+)= the sum of the lanes of the i-th vector, for i < count <= 4: lanes l and l + 8
  /// first, then ((l0 + l1) + (l2 + l3)) + ((l4 + l5) + (l6 + l7)).
  SIGHTLINE_INLINE void reduce4(Vec a, Vec b, Vec c, Vec d, float* out, int count,
                                bool accumulate) {
    const __m256 pairs =
        _mm256_hadd_ps(_mm256_hadd_ps(folded(a), folded(b)), _mm256_hadd_ps(folded(c), folded(d)));
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

/// Thirty-two 16-bit integers, or sixteen sums of 32 bits.
struct Ints {
  static constexpr std::int64_t kLanes = 32;
  static constexpr int kGroup = 4;  // rows of a register tile of four outputs
  __m512i v;

  SIGHTLINE_INLINE Ints zero() { return {_mm512_setzero_si512()}; }
  SIGHTLINE_INLINE Ints all(std::int16_t x) { return {_mm512_set1_epi16(x)}; }
  SIGHTLINE_INLINE Ints load(const std::int16_t* p) { return {_mm512_loadu_si512(p)}; }
  [[gnu::always_inline]] inline void store(std::int16_t* p) const { _mm512_storeu_si512(p, v); }
  /// Each sum with the products of two neighbours added.
  SIGHTLINE_INLINE void add_products(Ints a, Ints b, Ints& sum) {
#if defined(SIGHTLINE_AVX512_VNNI)
    sum.v = _mm512_dpwssd_epi32(sum.v, a.v, b.v);
#else
    sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(a.v, b.v));
#endif
  }
  /// (a · b + 2^14) >> 15
  SIGHTLINE_INLINE Ints scaled(Ints a, Ints b) { return {_mm512_mulhrs_epi16(a.v, b.v)}; }

  /// A chunk of bytes, (code − zero) << shift (IntegerForm), in the order of the columns.
  template <class Kind>
  SIGHTLINE_INLINE void load_codes(const std::byte* p, Ints zero, Ints (&out)[1]) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m512i codes =
        Kind::kCode == PackedCode::i8 ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
    constexpr int kMiddle = Kind::kCode == PackedCode::i8 ? 0 : 128;
    const __m512i middle = Kind::kStoredZero ? zero.v : _mm512_set1_epi16(kMiddle);
    const __m512i centred = _mm512_sub_epi16(codes, middle);
    if constexpr (!Kind::kStoredZero) {
      out[0].v = _mm512_slli_epi16(centred, 8);
    } else {
      out[0].v = _mm512_slli_epi16(centred, 7);
    }
  }

  /// A chunk of values times `factor`, to the nearest integers, in the order of load_codes().
  SIGHTLINE_INLINE void round_chunk(const float* x, Vec factor, std::int16_t* out) {
    for (int i = 0; i < 2; ++i) {
      const __m512i whole = _mm512_cvtps_epi32(Vec::mul(Vec::load(x + 16 * i), factor).v);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * i), _mm512_cvtsepi32_epi16(whole));
    }
  }

  SIGHTLINE_INLINE __m256d doubles(__m256i pairs) {
    return _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(pairs)),
                         _mm256_cvtepi32_pd(_mm256_extracti128_si256(pairs, 1)));
  }
  /// Lanes i and i + 8 added: they fit into 32 bits (kMostActivation: sixteen lanes share a step).
  SIGHTLINE_INLINE __m256i folded(Ints a) {
    return _mm256_add_epi32(_mm512_castsi512_si256(a.v), _mm512_extracti64x4_epi64(a.v, 1));
  }
  /// The exact sums of four times sixteen lanes, each rounded to float32 once.
  SIGHTLINE_INLINE void reduce4(Ints a, Ints b, Ints c, Ints d, float* out) {
    const __m256d ab = doubles(_mm256_hadd_epi32(folded(a), folded(b)));
    const __m256d cd = doubles(_mm256_hadd_epi32(folded(c), folded(d)));
    const __m256d sums = _mm256_permute4x64_pd(_mm256_hadd_pd(ab, cd), _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_ps(out, _mm256_cvtpd_ps(sums));
  }
};

/// 64 bytes, or 32 16-bit integers, or sixteen sums of 32 bits.
struct Bytes {
  static constexpr std::int64_t kLanes = 64, kChunks = kLanes / kIntegerChunk;
  static constexpr int kGroup = 4;  // rows of a register tile of four outputs
  static constexpr bool kSplits = true;
  __m512i v;

  SIGHTLINE_INLINE Bytes zero() { return {_mm512_setzero_si512()}; }
  SIGHTLINE_INLINE Bytes load(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
  [[gnu::always_inline]] inline void store(std::byte* p) const { _mm512_storeu_si512(p, v); }
  SIGHTLINE_INLINE Bytes halves(__m256i first, __m256i second) {
    return {_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1)};
  }
  /// The first chunk's value for every pair of its codes, then the second's.
  SIGHTLINE_INLINE Bytes pairs(std::int16_t first, std::int16_t second) {
    return halves(_mm256_set1_epi16(first), _mm256_set1_epi16(second));
  }
  SIGHTLINE_INLINE Bytes bytes(std::uint8_t first, std::uint8_t second) {
    return halves(_mm256_set1_epi8(static_cast<char>(first)),
                  _mm256_set1_epi8(static_cast<char>(second)));
  }

  /// 4-bit codes less their zero points, in the order of the columns.
  SIGHTLINE_INLINE Bytes load_codes(const std::byte* p, Bytes zero) {
    const __m512i codes =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    const __m512i apart = _mm512_or_si512(codes, _mm512_slli_epi16(codes, 4));
    return {_mm512_sub_epi8(_mm512_and_si512(apart, _mm512_set1_epi16(0x0f0f)), zero.v)};
  }

  /// Adds to each sum the products of four neighbours, times their ratios.
  SIGHTLINE_INLINE void add_products(Bytes x, Bytes codes, Bytes ratios, Bytes& sum) {
    sum.v =
        _mm512_add_epi32(sum.v, _mm512_madd_epi16(_mm512_maddubs_epi16(x.v, codes.v), ratios.v));
  }
  SIGHTLINE_INLINE void add_products(Bytes x, const std::byte* codes, const std::byte* ratios,
                                     Bytes& sum) {
    add_products(x, load(codes), load(ratios), sum);
  }
  /// The same for two runs that share their ratios.
  SIGHTLINE_INLINE void add_pairs(Bytes a, Bytes b, const std::byte* a_codes,
                                  const std::byte* b_codes, const std::byte* ratios, Bytes& sum) {
    const __m512i products = _mm512_add_epi16(_mm512_maddubs_epi16(a.v, load(a_codes).v),
                                              _mm512_maddubs_epi16(b.v, load(b_codes).v));
    sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(products, load(ratios).v));
  }

  /// Values times `factor` to the nearest integers, plus kByteMiddle, in the order of load_codes().
  SIGHTLINE_INLINE Bytes round(const float* x, Vec factor) {
    alignas(64) std::byte bytes[kLanes];
    for (int i = 0; i < 4; ++i) {
      const __m512i whole = _mm512_cvtps_epi32(Vec::mul(Vec::load(x + 16 * i), factor).v);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 16 * i), _mm512_cvtsepi32_epi8(whole));
    }
    constexpr auto kMiddles = static_cast<short>(kByteMiddle << 8 | kByteMiddle);
    return {_mm512_xor_si512(load(bytes).v, _mm512_set1_epi16(kMiddles))};
  }
  /// These bytes where `other` is odd, else zeros.
  [[gnu::always_inline]] inline Bytes if_odd(Bytes other) const {
    const __m512i odd = _mm512_and_si512(other.v, _mm512_set1_epi16(0x0101));
    return {_mm512_and_si512(v, _mm512_sub_epi8(_mm512_setzero_si512(), odd))};
  }

  // Sums of 32 bits, modulo 2^32.
  SIGHTLINE_INLINE Bytes plus_words(Bytes a, Bytes b) { return {_mm512_add_epi32(a.v, b.v)}; }
  SIGHTLINE_INLINE Bytes minus_words(Bytes a, Bytes b) { return {_mm512_sub_epi32(a.v, b.v)}; }
  SIGHTLINE_INLINE Bytes times_words(Bytes a, Bytes b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
  // For split_nibbles.inc.hpp, two vectors at a time.
  /// 128 codes of 4 bits: those of even columns, and of odd ones.
  SIGHTLINE_INLINE void split(const std::byte* p, Bytes& even, Bytes& odd) {
    const __m512i both = _mm512_loadu_si512(p), low = _mm512_set1_epi16(0x0f0f);
    even.v = _mm512_and_si512(both, low);
    odd.v = _mm512_and_si512(_mm512_srai_epi16(both, 4), low);
  }
  /// Every second byte of both, from the first or the second on.
  template <std::size_t From, std::size_t... I>
  SIGHTLINE_INLINE Bytes every_second(Bytes a, Bytes b, std::index_sequence<I...>) {
    using Each = signed char __attribute__((vector_size(64)));
    return {reinterpret_cast<__m512i>(__builtin_shufflevector(
        reinterpret_cast<Each>(a.v), reinterpret_cast<Each>(b.v), (2 * I + From)...))};
  }
  SIGHTLINE_INLINE Bytes even(Bytes a, Bytes b) {
    return every_second<0>(a, b, std::make_index_sequence<kLanes>());
  }
  SIGHTLINE_INLINE Bytes odd(Bytes a, Bytes b) {
    return every_second<1>(a, b, std::make_index_sequence<kLanes>());
  }
  /// Adds to each sum the products of the four neighbours whose codes these are, times their ratio.
  SIGHTLINE_INLINE void add_split(Bytes x_even, Bytes x_odd, Bytes even, Bytes odd, Bytes ratio,
                                  Bytes& sum) {
    const __m512i products = _mm512_add_epi16(_mm512_maddubs_epi16(x_even.v, even.v),
                                              _mm512_maddubs_epi16(x_odd.v, odd.v));
#if defined(SIGHTLINE_AVX512_VNNI)
    sum.v = _mm512_dpwssd_epi32(sum.v, products, ratio.v);
#else
    sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(products, ratio.v));
#endif
  }
  /// Up to sixteen values of 16 bits, zeros behind them; and each of them in the places that
  /// `index` names, or in a word of 32 bits.
  SIGHTLINE_INLINE Bytes first_words(const std::int16_t* p, std::int64_t count) {
    return {_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(Vec::first(count), p))};
  }
  SIGHTLINE_INLINE Bytes spread(Bytes values, Bytes index) {
    return {_mm512_permutexvar_epi16(index.v, values.v)};
  }
  SIGHTLINE_INLINE Bytes widened(Bytes values) {
    return {_mm512_cvtepi16_epi32(_mm512_castsi512_si256(values.v))};
  }
  /// Up to sixteen bytes, each in a word of 32 bits; and a value in all of them.
  SIGHTLINE_INLINE Bytes first_bytes(const std::uint8_t* p, std::int64_t count) {
    return {_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(Vec::first(count), p))};
  }
  SIGHTLINE_INLINE Bytes words(std::int32_t value) { return {_mm512_set1_epi32(value)}; }

#if defined(SIGHTLINE_AVX512_VNNI)
  /// Adds to each sum the products of four neighbours, without saturation.
  SIGHTLINE_INLINE void add_byte_products(Bytes x, Bytes weights, Bytes& sum) {
#if defined(SIGHTLINE_AVX512_TWIN)
    sum.v = _mm512_dpbusd_epi32(sum.v, x.v, weights.v);
#else
    // GCC 12 copies the sum there and back around its intrinsic.
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(weights.v));
#endif
  }
  /// Four bytes in every sum's place.
  SIGHTLINE_INLINE Bytes word(const std::byte* p) {
    std::int32_t word = 0;
    __builtin_memcpy(&word, p, sizeof word);
    return {_mm512_set1_epi32(word)};
  }
  SIGHTLINE_INLINE Vec floats(Bytes sums) { return {_mm512_cvtepi32_ps(sums.v)}; }

  /// Word j of each of two vectors whose numbers differ in bit D, for the first
  /// or the second of them, after that bit of number and word have changed
  /// places.
  template <int D, bool Second, std::size_t... J>
  SIGHTLINE_INLINE __m512i exchanged(__m512i a, __m512i b, std::index_sequence<J...>) {
    using Words = std::int32_t __attribute__((vector_size(64)));
    constexpr std::size_t kBit = D, kWords = 16;
    return reinterpret_cast<__m512i>(__builtin_shufflevector(
        reinterpret_cast<Words>(a), reinterpret_cast<Words>(b),
        ((J & kBit) != 0 ? kWords + J - (Second ? 0 : kBit) : J + (Second ? kBit : 0))...));
  }
  template <int D>
  SIGHTLINE_INLINE void exchange_bit(Bytes (&rows)[16]) {
    using Words = std::make_index_sequence<16>;
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if ((i & D) != 0) continue;
      const __m512i a = rows[i].v, b = rows[i + D].v;
      rows[i].v = exchanged<D, false>(a, b, Words{});
      rows[i + D].v = exchanged<D, true>(a, b, Words{});
    }
  }
  /// Sixteen rows of sixteen words become columns.
  SIGHTLINE_INLINE void transpose(Bytes (&rows)[16]) {
    exchange_bit<1>(rows);
    exchange_bit<2>(rows);
    exchange_bit<4>(rows);
    exchange_bit<8>(rows);
  }
  /// Codes with their middle at 0.
  SIGHTLINE_INLINE Bytes other_signs(Bytes codes) {
    constexpr auto kMiddles = static_cast<short>(kByteMiddle << 8 | kByteMiddle);
    return {_mm512_xor_si512(codes.v, _mm512_set1_epi16(kMiddles))};
  }
  /// Codes times their ratios as integers of 12 bits, and these as integers of
  /// 8: narrow_integer(). Both steps are rounded products of 16 bits, the
  /// second one with 2^-4; the two halves are put together with saturation, as
  /// they came apart.
  SIGHTLINE_INLINE Bytes narrow(Bytes codes, Bytes ratios) {
    const __m512i none = _mm512_setzero_si512(), sixteenth = _mm512_set1_epi16(1 << 11);
    const __m512i low = _mm512_mulhrs_epi16(_mm512_unpacklo_epi8(none, codes.v), ratios.v);
    const __m512i high = _mm512_mulhrs_epi16(_mm512_unpackhi_epi8(none, codes.v), ratios.v);
    return {_mm512_packs_epi16(_mm512_mulhrs_epi16(low, sixteenth),
                               _mm512_mulhrs_epi16(high, sixteenth))};
  }
#endif

  /// The sums of four times sixteen lanes, modulo 2^32.
  SIGHTLINE_INLINE void reduce4(Bytes a, Bytes b, Bytes c, Bytes d, std::int32_t* out) {
    const __m256i sums =
        _mm256_hadd_epi32(_mm256_hadd_epi32(Ints::folded({a.v}), Ints::folded({b.v})),
                          _mm256_hadd_epi32(Ints::folded({c.v}), Ints::folded({d.v})));
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

#include "kernels/split_nibbles.inc.hpp"

#include "kernels/make_table.inc.hpp"

#if defined(SIGHTLINE_AVX512_VNNI)
#include "kernels/bytes.inc.hpp"

#include "kernels/byte_columns.inc.hpp"

/// The table with products of bytes.
constexpr Kernels with_bytes(Kernels table) {
  table.bytes = &kVectorBytes;
  return table;
}
#endif

}  // namespace

#if defined(SIGHTLINE_AVX512_TWIN) && defined(SIGHTLINE_AVX512_VNNI)
const Kernels kAvx512VnniTwin = with_bytes(make_table("avx512_vnni_twin", "avx2 fma f16c"));
#elif defined(SIGHTLINE_AVX512_TWIN)
const Kernels kAvx512Twin = make_table("avx512_twin", "avx2 fma f16c");
#elif defined(SIGHTLINE_AVX512_VNNI)
const Kernels kAvx512Vnni = with_bytes(
    make_table("avx512-vnni", "avx512f avx512bw avx512dq avx512vl avx512_vnni fma f16c"));
#else
const Kernels kAvx512 = make_table("avx512", "avx512f avx512bw avx512dq avx512vl fma f16c");
#endif

}  // namespace sightline::kernels

SIGHTLINE_TARGET_END

#endif  // defined(__x86_64__)
