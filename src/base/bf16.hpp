// The two 16-bit float formats of checkpoints as plain integers: exact widening to float32, and
// rounding to bf16. Pure functions. Vector forms live with the kernel sets.
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

/// Round to nearest, ties to even; too large becomes infinity; a NaN stays a NaN and becomes quiet.
constexpr bf16 to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace sightline
