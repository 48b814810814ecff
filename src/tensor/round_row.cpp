// Scales and codes of groups of columns (round_row.hpp). What is inlined everywhere is compiled
// once for any machine and once for AVX2.
#include "tensor/round_row.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bf16.hpp"
#include "base/cpu.hpp"
#include "tensor/packed_weight.hpp"

#define SIGHTLINE_INLINE [[gnu::always_inline]] inline

namespace sightline {
namespace {

/// Columns whose scale is the same: groups of 8 bits within a step of integer products are alike,
/// so that sums of their codes need no other factor than the step's.
constexpr std::int64_t shared_columns(PackedCode code, std::int64_t group) {
  return code == PackedCode::u4 ? group : kIntegerStep;
}

/// The range of codes around their middle.
struct Range {
  float low, high;
};
constexpr Range range_of(PackedCode code) {
  return code == PackedCode::u4 ? Range{-8, 7} : Range{-128, 127};
}

/// Eight floats of a group: a vector type of GCC and Clang, for any machine.
using Lanes = float __attribute__((vector_size(32)));
constexpr std::int64_t kLanes = 8;  // divides every group; sums run over so many partial sums

/// Values of the groups that share a scale.
struct Values {
  alignas(32) std::array<float, kIntegerStep> at;
};

/// N stored values as floats.
template <std::int64_t N>
SIGHTLINE_INLINE void widen_run(DType dtype, const std::byte* from, float* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<std::size_t>(N) * sizeof(float));
    return;
  }
  std::array<std::uint16_t, N> bits;
  std::memcpy(bits.data(), from, sizeof bits);
  if (dtype == DType::bf16) {
    for (std::size_t i = 0; i < bits.size(); ++i) to[i] = widen(bf16{bits[i]});
  } else {
    for (std::size_t i = 0; i < bits.size(); ++i) to[i] = widen(f16{bits[i]});
  }
}

/// The bits of the greatest magnitude of N values, which are in the order of values: those of an
/// infinity or more if one is not finite.
template <std::int64_t N>
SIGHTLINE_INLINE std::uint32_t greatest_bits(const float* values) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < N; ++i)
    most = std::max(most, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffU);
  return most;
}
/// The magnitude, NaN if it is not finite.
SIGHTLINE_INLINE float magnitude(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  return bits < kInfinity ? std::bit_cast<float>(bits) : std::numeric_limits<float>::quiet_NaN();
}

constexpr float kNoFraction = 12582912.0F;  // 1.5 · 2^23
constexpr float kMostSquared = 1e15F;       // squares of more need a unit, or may overflow in a sum

/// To the nearest integer, ties to even, for |x| < 2^22: the sum has no place for a fraction.
SIGHTLINE_INLINE float rounded(float x) { return (x + kNoFraction) - kNoFraction; }

/// Codes by one scale: the squared error, and the scale that would be best for these codes.
struct Trial {
  float scale = 0, error = 0, better = 0;
};

template <std::int64_t N>
SIGHTLINE_INLINE Trial try_scale(const float* values, float wanted, Range range) {
  const float scale = widen(to_bf16(wanted)), inverse = 1.0F / scale;
  Lanes error{}, cross{}, square{};
  for (std::int64_t i = 0; i < N; i += kLanes) {
    Lanes value;
    std::memcpy(&value, values + i, sizeof value);
    Lanes code = (value * inverse + kNoFraction) - kNoFraction;
    code = code < range.low ? Lanes{} + range.low : code;
    code = code > range.high ? Lanes{} + range.high : code;
    const Lanes off = value - code * scale;
    error += off * off;
    cross += value * code;
    square += code * code;
  }
  float off = 0, across = 0, squares = 0;
  for (int l = 0; l < kLanes; ++l) {
    off += error[l];
    across += cross[l];
    squares += square[l];
  }
  return {scale, off, squares > 0 ? across / squares : scale};
}

/// Of scales that clip nothing or a little, and the best one for the codes of the best of them, the
/// one with the least squared error. For 8 bits the one that clips nothing.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE float best_scale(const float* values, float most) {
  constexpr Range kRange = range_of(C);
  if (C != PackedCode::u4 || most > kMostSquared) return widen(to_bf16(most / kRange.high));
  constexpr float kLevels[] = {7.0F, 7.75F, 8.5F};  // |code| of the greatest magnitude
  Trial best{0, std::numeric_limits<float>::infinity(), 0};
  for (const float level : kLevels) {
    const Trial trial = try_scale<N>(values, most / level, kRange);
    if (trial.error < best.error) best = trial;
  }
  const Trial refined = try_scale<N>(values, best.better, kRange);
  return refined.error < best.error ? refined.scale : best.scale;
}

/// The bfloat16 scale of groups that share it: NaN if a value is not finite, 0 if all are 0 for all
/// purposes.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE float scale_of(const float* values, float most) {
  constexpr float kLeast = 1e-30F;  // below it a scale has no reciprocal
  if (std::isnan(most)) return std::numeric_limits<float>::quiet_NaN();
  return most > kLeast ? best_scale<C, N>(values, most) : 0.0F;
}

/// Codes of one group, one a byte.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE void codes_of(const float* values, float inverse, std::uint8_t* to) {
  constexpr Range kRange = range_of(C);
  constexpr int kMiddle = -static_cast<int>(kRange.low);
  for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i) {
    const float code = std::min(std::max(rounded(values[i] * inverse), kRange.low), kRange.high);
    to[i] = static_cast<std::uint8_t>(static_cast<int>(code) + kMiddle);
  }
}

/// Adds what a group loses.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE void add_error(const float* values, const std::uint8_t* codes, float step,
                                float most, RoundingError& sums) {
  constexpr int kMiddle = -static_cast<int>(range_of(C).low);
  const float unit = most > kMostSquared ? most : 1.0F, per_unit = 1.0F / unit;
  std::array<float, kLanes> error{}, norm{}, worst{};  // the sums in units
  for (std::size_t i = 0; i < static_cast<std::size_t>(N); i += error.size()) {
    for (std::size_t l = 0; l < error.size(); ++l) {
      const float value = values[i + l];
      const float off = std::abs(value - static_cast<float>(codes[i + l] - kMiddle) * step);
      error[l] += (off * per_unit) * (off * per_unit);
      norm[l] += (value * per_unit) * (value * per_unit);
      worst[l] = std::max(worst[l], off);
    }
  }
  const double square = static_cast<double>(unit) * static_cast<double>(unit);
  for (std::size_t l = 0; l < error.size(); ++l)
    sums += {static_cast<double>(error[l]) * square, static_cast<double>(norm[l]) * square,
             static_cast<double>(worst[l])};
}

/// Stores the codes of a group, which begins at a whole byte.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE void put_codes(const std::uint8_t* codes, std::byte* to) {
  if (C != PackedCode::u4) {
    std::memcpy(to, codes, static_cast<std::size_t>(N));
    return;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(N) / 2; ++i)
    to[i] = static_cast<std::byte>(codes[2 * i] | codes[2 * i + 1] << 4U);
}

/// Codes and stored scale of one group of a row, from column k on.
template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE void put_group(const float* values, std::int64_t k, float scale, float most,
                                const RoundedRow& to) {
  alignas(32) std::array<std::uint8_t, N> codes;
  codes_of<C, N>(values, scale > 0 ? 1.0F / scale : 0, codes.data());
  put_codes<C, N>(codes.data(), to.codes + packed_row_bytes(C, k));
  const bf16 stored = to_bf16(scale);
  std::byte* place = to.scales + k / N * static_cast<std::int64_t>(sizeof stored.bits);
  place[0] = static_cast<std::byte>(stored.bits & 0xffU);
  place[1] = static_cast<std::byte>(stored.bits >> 8U);
  if (to.error != nullptr)
    add_error<C, N>(values, codes.data(), scale > 0 ? scale : 0, most, *to.error);
}

template <PackedCode C, std::int64_t N>
SIGHTLINE_INLINE void round_groups(const Weight& weight, std::int64_t row, const RoundedRow& to) {
  constexpr std::int64_t kShared = shared_columns(C, N);
  const std::int64_t size = dtype_size(weight.dtype);
  const std::byte* from = weight.row(row);
  Values values;
  for (std::int64_t first = 0; first < weight.in; first += kShared) {
    const std::int64_t columns = std::min(kShared, weight.in - first);
    std::uint32_t bits = 0;
    for (std::int64_t k = 0; k < columns; k += N) {
      widen_run<N>(weight.dtype, from + (first + k) * size, values.at.data() + k);
      bits = std::max(bits, greatest_bits<N>(values.at.data() + k));
    }
    const float most = magnitude(bits), scale = scale_of<C, N>(values.at.data(), most);
    if (std::isnan(scale)) values.at.fill(0);
    for (std::int64_t k = 0; k < columns; k += N)
      put_group<C, N>(values.at.data() + k, first + k, scale, most, to);
  }
}

/// By code and group (rounding_for() gives no others).
SIGHTLINE_INLINE void round_any(const Weight& weight, std::int64_t row, const Rounding& rounding,
                                const RoundedRow& to) {
  if (rounding.code == PackedCode::u4) return round_groups<PackedCode::u4, 32>(weight, row, to);
  if (rounding.group_cols == 128) return round_groups<PackedCode::u8, 128>(weight, row, to);
  if (rounding.group_cols == 64) return round_groups<PackedCode::u8, 64>(weight, row, to);
  round_groups<PackedCode::u8, 32>(weight, row, to);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void round_row_avx2(const Weight& weight, std::int64_t row,
                                            const Rounding& rounding, const RoundedRow& to) {
  round_any(weight, row, rounding, to);
}
#endif

}  // namespace

void round_row_plain(const Weight& weight, std::int64_t row, const Rounding& rounding,
                     const RoundedRow& to) {
  round_any(weight, row, rounding, to);
}

RoundRow best_round_row() {
#if defined(__x86_64__)
  if (cpu_features().avx2) return round_row_avx2;
#endif
  return round_row_plain;
}

}  // namespace sightline
