// Scales and codes of groups of columns (quantise.hpp).
#include "tensor/quantise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bf16.hpp"

namespace sightline {
namespace {

constexpr std::int64_t kMostGroup = 128, kWordBytes = 4;
constexpr std::int64_t kGroups8[] = {128, 64, 32}, kGroups4[] = {32};

/// What is asked for the middle of the codes, and their range around it.
struct Range {
  float low, high;
  std::uint8_t middle;
};
constexpr Range kRange4{-8, 7, 8}, kRange8{-128, 127, 128};

const Range& range_of(const Rounding& rounding) {
  return rounding.code == PackedCode::u4 ? kRange4 : kRange8;
}

/// n stored values as floats.
void widen_run(DType dtype, const std::byte* from, std::int64_t n, float* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  std::array<std::uint16_t, kMostGroup> bits;
  std::memcpy(bits.data(), from, static_cast<std::size_t>(n) * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    to[i] = dtype == DType::bf16 ? widen(bf16{bits[i]}) : widen(f16{bits[i]});
}

/// Eight floats of a group: a vector type of GCC and Clang, for any machine.
using Lanes = float __attribute__((vector_size(32)));

/// Values of one group. Sums run over kLanes partial sums.
struct Group {
  static constexpr std::int64_t kLanes = 8;  // divides every group
  std::array<float, kMostGroup> values;
  std::int64_t n = 0;

  /// The greatest magnitude; NaN if a value is not finite.
  [[nodiscard]] float greatest() const {
    std::uint32_t most = 0;  // the bits of magnitudes are in the order of their values
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      most = std::max(most, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffU);
    constexpr std::uint32_t kInfinity = 0x7f800000U;
    return most < kInfinity ? std::bit_cast<float>(most) : std::numeric_limits<float>::quiet_NaN();
  }
};

constexpr float kNoFraction = 12582912.0F;  // 1.5 · 2^23
constexpr float kMostSquared = 1e15F;       // squares of more need a unit, or may overflow in a sum

/// To the nearest integer, ties to even, for |x| < 2^22: the sum has no place for a fraction.
float rounded(float x) { return (x + kNoFraction) - kNoFraction; }

/// Codes by one scale: the squared error, and the scale that would be best for these codes.
struct Trial {
  float scale = 0, error = 0, better = 0;
};

Trial try_scale(const Group& group, float wanted, const Range& range) {
  const float scale = widen(to_bf16(wanted)), inverse = 1.0F / scale;
  Lanes error{}, cross{}, square{};
  for (std::int64_t i = 0; i < group.n; i += Group::kLanes) {
    Lanes value;
    std::memcpy(&value, group.values.data() + i, sizeof value);
    Lanes code = (value * inverse + kNoFraction) - kNoFraction;
    code = code < range.low ? Lanes{} + range.low : code;
    code = code > range.high ? Lanes{} + range.high : code;
    const Lanes off = value - code * scale;
    error += off * off;
    cross += value * code;
    square += code * code;
  }
  float off = 0, across = 0, squares = 0;
  for (int l = 0; l < Group::kLanes; ++l) {
    off += error[l];
    across += cross[l];
    squares += square[l];
  }
  return {scale, off, squares > 0 ? across / squares : scale};
}

/// Of scales that clip nothing or a little, and the best one for the codes of the best of them, the
/// one with the least squared error.
float best_scale(const Group& group, float most, const Range& range) {
  if (range.high > kRange4.high || most > kMostSquared) return widen(to_bf16(most / range.high));
  constexpr float kLevels[] = {7.0F, 7.75F, 8.5F};  // |code| of the greatest magnitude
  Trial best{0, std::numeric_limits<float>::infinity(), 0};
  for (const float level : kLevels) {
    const Trial trial = try_scale(group, most / level, range);
    if (trial.error < best.error) best = trial;
  }
  const Trial refined = try_scale(group, best.better, range);
  return refined.error < best.error ? refined.scale : best.scale;
}

/// Stores the codes of a group, which begins at a whole byte.
void put_codes(const std::array<std::uint8_t, kMostGroup>& codes, std::int64_t n, PackedCode code,
               std::byte* to) {
  if (code == PackedCode::u8) {
    std::memcpy(to, codes.data(), static_cast<std::size_t>(n));
    return;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n) / 2; ++i)
    to[i] = static_cast<std::byte>(codes[2 * i] | codes[2 * i + 1] << 4U);
}

/// Rounds one group to `to`; returns the scale.
float round_group(const Group& group, const Rounding& rounding, std::byte* to,
                  RoundingError& sums) {
  const Range& range = range_of(rounding);
  const float most = group.greatest();
  constexpr float kLeast = 1e-30F;  // below it a scale has no reciprocal: zero for all purposes
  float scale = 0;
  if (std::isnan(most)) {
    scale = std::numeric_limits<float>::quiet_NaN();
  } else if (most > kLeast) {
    scale = best_scale(group, most, range);
  }
  const float step = scale > 0 ? scale : 0, inverse = scale > 0 ? 1.0F / scale : 0;
  std::array<std::uint8_t, kMostGroup> codes;
  const float unit = most > kMostSquared ? most : 1.0F, per_unit = 1.0F / unit;
  std::array<float, Group::kLanes> error{}, norm{}, greatest{};  // the sums in units
  for (std::size_t i = 0; i < static_cast<std::size_t>(group.n); i += error.size()) {
    for (std::size_t l = 0; l < error.size(); ++l) {
      const float value = std::isnan(scale) ? 0.0F : group.values[i + l];
      const float code = std::min(std::max(rounded(value * inverse), range.low), range.high);
      codes[i + l] = static_cast<std::uint8_t>(static_cast<int>(code) + range.middle);
      const float off = std::abs(value - code * step);
      error[l] += (off * per_unit) * (off * per_unit);
      norm[l] += (value * per_unit) * (value * per_unit);
      greatest[l] = std::max(greatest[l], off);
    }
  }
  put_codes(codes, group.n, rounding.code, to);
  const double square = static_cast<double>(unit) * static_cast<double>(unit);
  for (std::size_t l = 0; l < error.size(); ++l)
    sums += {static_cast<double>(error[l]) * square, static_cast<double>(norm[l]) * square,
             static_cast<double>(greatest[l])};
  return scale;
}

}  // namespace

std::optional<Rounding> rounding_for(int bits, std::int64_t in) {
  if (in == 0) return std::nullopt;
  const auto fits = [&](auto groups, PackedCode code) -> std::optional<Rounding> {
    for (const std::int64_t group : groups) {
      if (in % group == 0) return Rounding{code, group};
    }
    return std::nullopt;
  };
  return bits == 4 ? fits(std::to_array(kGroups4), PackedCode::u4)
                   : fits(std::to_array(kGroups8), PackedCode::u8);
}

RoundingError& RoundingError::operator+=(const RoundingError& other) {
  error += other.error;
  norm += other.norm;
  greatest = std::max(greatest, other.greatest);
  return *this;
}

RoundedRows round_rows(const Weight& weight, std::int64_t first, std::int64_t count,
                       const Rounding& rounding) {
  RoundedRows rows;
  const std::int64_t row_bytes = packed_row_bytes(rounding.code, weight.in, kWordBytes);
  const std::int64_t size = dtype_size(weight.dtype);
  rows.codes.resize(static_cast<std::size_t>(count * row_bytes));
  rows.scales.reserve(static_cast<std::size_t>(count * weight.in / rounding.group_cols * 2));
  Group group;
  group.n = rounding.group_cols;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::byte* from = weight.row(first + r);
    std::byte* to = rows.codes.data() + r * row_bytes;
    for (std::int64_t k = 0; k < weight.in; k += group.n) {
      widen_run(weight.dtype, from + k * size, group.n, group.values.data());
      const float scale =
          round_group(group, rounding, to + packed_row_bytes(rounding.code, k), rows.error);
      const bf16 stored = to_bf16(scale);
      rows.scales.push_back(static_cast<std::byte>(stored.bits & 0xffU));
      rows.scales.push_back(static_cast<std::byte>(stored.bits >> 8U));
    }
  }
  return rows;
}

void round_blocks(const Weight& weight, std::int64_t first, std::int64_t count,
                  const Rounding& rounding, Threads& threads, const TakeBlock& take) {
  const std::int64_t blocks = (count + kRoundedBlock - 1) / kRoundedBlock;
  threads.for_blocks(blocks, [&](std::int64_t block, int) {
    const std::int64_t done = block * kRoundedBlock;
    take(block, round_rows(weight, first + done, std::min(kRoundedBlock, count - done), rounding));
  });
}

std::shared_ptr<PackedWeight> round_weight(const Weight& weight, const Rounding& rounding,
                                           Threads& threads) {
  auto packed = std::make_shared<PackedWeight>();
  packed->code = rounding.code;
  packed->out = weight.out;
  packed->in = weight.in;
  packed->row_bytes = packed_row_bytes(rounding.code, weight.in, kWordBytes);
  packed->group_cols = rounding.group_cols;
  packed->groups = weight.in / rounding.group_cols;
  packed->scale_dtype = DType::bf16;
  packed->zero = range_of(rounding).middle;
  const std::int64_t scale_bytes = packed->groups * dtype_size(DType::bf16);
  packed->owned_codes.resize(static_cast<std::size_t>(weight.out * packed->row_bytes));
  packed->owned_scales.resize(static_cast<std::size_t>(weight.out * scale_bytes));
  const auto store = [&](std::int64_t block, const RoundedRows& rows) {
    const std::int64_t first = block * kRoundedBlock;
    std::memcpy(packed->owned_codes.data() + first * packed->row_bytes, rows.codes.data(),
                rows.codes.size());
    std::memcpy(packed->owned_scales.data() + first * scale_bytes, rows.scales.data(),
                rows.scales.size());
  };
  round_blocks(weight, 0, weight.out, rounding, threads, store);
  packed->codes = packed->owned_codes.data();
  packed->scales = packed->owned_scales.data();
  return packed;
}

}  // namespace sightline
