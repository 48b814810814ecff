// Making the integer form of a packed weight, from which products with rounded activations are
// computed (kernels/matmul.hpp). Pure functions; nothing here knows a model or a file.
#pragma once

#include <cstdint>

#include "base/threads.hpp"
#include "tensor/packed_weight.hpp"

namespace sightline {

/// Greatest magnitude of a rounded activation. 128 products of it and of an integer weight (at most
/// 2048), the share of one 32-bit lane of a step's 512 when four lanes add them up, stay below
/// 2^31.
inline constexpr std::int32_t kMostActivation = 8191;

/// The same where the weight's codes have 4 bits, and what is added to store it without a sign: 512
/// products of it, a code less its zero point (at most 15) and a ratio (2048) stay below 2^31.
inline constexpr std::int32_t kMostByteActivation = 127, kByteMiddle = 128;

/// Groups are whole chunks of so many codes.
inline constexpr std::int64_t kIntegerChunk = 32;

/// Bytes of a rounded activation.
constexpr std::int64_t activation_bytes(PackedCode code) { return code == PackedCode::u4 ? 1 : 2; }

/// Rounded activations are padded with zeros to a multiple of so many: 64 bytes.
constexpr std::int64_t activation_pad(PackedCode code) {
  constexpr std::int64_t kBytes = 64;
  return kBytes / activation_bytes(code);
}

/// True if the weight has an integer form: 4- or 8-bit integers whose groups are whole chunks.
bool has_integer_form(const PackedWeight& weight);

/// Adds the integer form and gives back owned scales, which nothing reads then. A step with a scale
/// that is not finite gets NaN. has_integer_form() must hold. Rows are shared out to `threads`, if
/// there are any; no value depends on their number.
void add_integer_form(PackedWeight& weight, Threads* threads = nullptr);

/// The value of a code of a row, less its zero point.
std::int32_t centred_code(const PackedWeight& weight, std::int64_t row, std::int64_t column);

/// Integer [row, column] of the definition (IntegerForm), in the order in which columns are packed.
std::int32_t integer_at(const PackedWeight& weight, std::int64_t row, std::int64_t column);

}  // namespace sightline
