// Making the integer form of a packed weight, from which products with rounded activations are
// computed (kernels/matmul.hpp). Pure functions; nothing here knows a model or a file.
#pragma once

#include <cstdint>

#include "tensor/packed_weight.hpp"

namespace sightline {

/// Greatest magnitude of a rounded activation. 128 products of it and of an integer weight (at most
/// 2048), the share of one 32-bit lane of a step's 512 when four lanes add them up, stay below
/// 2^31.
inline constexpr std::int32_t kMostActivation = 8191;

/// Codes are read this many at a time, and rounded activations padded with zeros to a multiple.
inline constexpr std::int64_t kIntegerChunk = 32;

/// True if the weight has an integer form: 4- or 8-bit integers whose groups are whole chunks.
bool has_integer_form(const PackedWeight& weight);

/// Adds the integer form and gives back owned scales, which nothing reads then. A step with a scale
/// that is not finite gets NaN. has_integer_form() must hold.
void add_integer_form(PackedWeight& weight);

/// The value of a code of a row, less its zero point.
std::int32_t centred_code(const PackedWeight& weight, std::int64_t row, std::int64_t column);

/// Integer [row, column] of the definition (IntegerForm), in the order in which columns are packed.
std::int32_t integer_at(const PackedWeight& weight, std::int64_t row, std::int64_t column);

}  // namespace sightline
