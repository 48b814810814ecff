// The 16-bit and 8-bit float formats of checkpoints as plain integers: exact widening to float32,
// and rounding to bf16. Pure functions. Vector forms live with the kernel sets.
#pragma once

#include <bit>
#include <cstdint>

namespace sightline {

/// bfloat16: the upper half of a float32.
struct bf16 {
  std::uint16_t bits = 0;
};
/// IEEE 754 binary16.
struct f16 {
  std::uint16_t bits = 0;
};

/// 8-bit float of 4 exponent and 3 fraction bits, bias 7, no infinities ("e4m3fn").
struct f8_e4m3 {
  std::uint8_t bits = 0;
};

/// Exact.
constexpr float widen(bf16 x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Exact, subnormal numbers included; a NaN stays a (quiet) NaN.
constexpr float widen(f16 x) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinity or NaN
    const std::uint32_t quiet = magnitude > 0x7c00U ? 0x00400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | (magnitude << 13));
  }
  if (magnitude < 0x0400U) {  // zero or subnormal: magnitude x 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));  // bias 15 -> 127
}

/// Exact, subnormal numbers included; all bits but the sign set is a NaN. OCP 8-bit floating point
/// specification (OFP8), section 5.
constexpr float widen(f8_e4m3 x) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x80U) << 24;
  const std::uint32_t magnitude = x.bits & 0x7fU;
  if (magnitude == 0x7fU) return std::bit_cast<float>(sign | 0x7fc00000U);
  if (magnitude < 0x08U) {  // zero or subnormal: magnitude x 2^-9
    const float value = static_cast<float>(magnitude) * 0x1p-9F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120U << 23)));  // bias 7 -> 127
}

/// Round to nearest, ties to even; too large becomes infinity; a NaN stays a NaN and becomes quiet.
constexpr bf16 to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace sightline
