// The generator (random_values.hpp).
#include "audit/random_values.hpp"

#include <cstring>

#include "base/bf16.hpp"

namespace sightline::audit {
namespace {

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
  return z ^ (z >> 31U);
}

float normal(std::uint64_t word) {
  // Four equal parts of 16 bits: mean 4 · 65535 / 2, variance 4 · (65536² − 1) / 12.
  constexpr std::int32_t kMean = 131070;
  constexpr float kDeviation = 37837.227F;
  const auto part = [&](unsigned shift) {
    return static_cast<std::int32_t>((word >> shift) & 0xFFFFU);
  };
  const std::int32_t sum = part(0) + part(16) + part(32) + part(48);
  return static_cast<float>(sum - kMean) / kDeviation;
}

float uniform(std::uint64_t word) {  // in [-1, 1)
  return static_cast<float>(word >> 40U) * 0x1p-23F - 1.0F;
}

}  // namespace

std::uint64_t random_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return mix(hash + mix(seed));
}

float random_value(const Distribution& distribution, std::uint64_t key, std::int64_t index) {
  const std::uint64_t word = mix(key + (static_cast<std::uint64_t>(index) + 1) * kStep);
  const float value =
      distribution.kind == Distribution::Kind::normal ? normal(word) : uniform(word);
  return distribution.center + distribution.spread * value;
}

void random_values(const Distribution& distribution, std::uint64_t key, std::int64_t first,
                   std::int64_t count, DType dtype, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = random_value(distribution, key, first + i);
    if (dtype == DType::bf16) {
      const std::uint16_t bits = to_bf16(value).bits;
      std::memcpy(out + 2 * i, &bits, sizeof(bits));
    } else {
      std::memcpy(out + 4 * i, &value, sizeof(value));
    }
  }
}

}  // namespace sightline::audit
