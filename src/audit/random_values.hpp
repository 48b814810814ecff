// Reproducible random values for made-up checkpoints. The generator is part of the format: value i
// of a tensor depends on the seed, the tensor's name and i alone, whatever is written before it or
// beside it, and uses integer and single-precision operations only, so that every machine writes
// the same bits.
//
//   mix(z)  = the output function of SplitMix64 (Steele, Lea and Flood 2014)
//   key     = mix(FNV-1a-64(name) + mix(seed))
//   word(i) = mix(key + (i + 1) * 0x9E3779B97F4A7C15)
//   normal  = (sum of the four 16-bit parts of word(i) - 131070) / 37837.227, times a scale
//   uniform = low + (high - low) * (upper 24 bits of word(i)) / 2^24
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sightline/tensor.hpp"

namespace sightline::audit {

/// The numbers that a tensor is filled with.
struct Distribution {
  enum class Kind : std::uint8_t { normal, uniform };
  Kind kind = Kind::normal;
  float center = 0, spread = 1;  ///< mean and standard deviation; or middle and half the width
};

/// Key of a tensor.
std::uint64_t random_key(std::uint64_t seed, std::string_view name);

/// Value `index` of the tensor with this key.
float random_value(const Distribution& distribution, std::uint64_t key, std::int64_t index);

/// Values [first, first + count) as F32 or BF16 (rounded to nearest), little-endian.
void random_values(const Distribution& distribution, std::uint64_t key, std::int64_t first,
                   std::int64_t count, DType dtype, std::byte* out);

}  // namespace sightline::audit
