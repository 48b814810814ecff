// Rounding stored matrices to packed codes: what `--precision int8` and `int4` do while loading and
// `sightline quantize` does once. One rule for both, so that both give the same codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/threads.hpp"
#include "tensor/packed_weight.hpp"
#include "tensor/weight.hpp"

namespace sightline {

/// Symmetric codes with a bfloat16 scale for every group of columns: stored code = value + middle.
/// Groups of 8 bits that lie in one kIntegerStep have the same scale (integers of 8 bits with one
/// scale a step, as bytes are multiplied, are then the codes, without a second rounding).
struct Rounding {
  PackedCode code = PackedCode::u4;  ///< u4 (middle 8) or u8 (middle 128)
  std::int64_t group_cols = 32;

  [[nodiscard]] int bits() const { return code == PackedCode::u4 ? 4 : 8; }
};

/// How a matrix of `in` columns is rounded to 4 or 8 bits: the greatest group of 32 (4 bits) or
/// 128, 64, 32 (8 bits) columns that divides it; nothing if none does.
std::optional<Rounding> rounding_for(int bits, std::int64_t in);

/// Sums over elements, of which errors are reported: √(error / norm) is the relative L2 error.
struct RoundingError {
  double error = 0, norm = 0;
  double greatest = 0;  ///< |rounded − stored|

  RoundingError& operator+=(const RoundingError& other);
};

/// Some rounded rows, as they are stored: codes [rows][packed_row_bytes(code, in, 4)], scales
/// (bfloat16) [rows][in / group_cols].
struct RoundedRows {
  std::vector<std::byte> codes, scales;
  RoundingError error;
};

/// Rounds rows [first, first + count) of a matrix that is stored as floats. Scales of 8 bits map
/// the greatest magnitude of a step to 127; those of 4 bits are, of a few, the one with the least
/// squared error. What shares a scale with a value that is not finite gets the scale NaN.
RoundedRows round_rows(const Weight& weight, std::int64_t first, std::int64_t count,
                       const Rounding& rounding);

/// Rows that one thread rounds at once.
inline constexpr std::int64_t kRoundedBlock = 32;
/// Takes the rounded rows of one block; called by the thread that made them.
using TakeBlock = std::function<void(std::int64_t block, RoundedRows rows)>;

/// round_rows() in blocks that threads take as they become free: block b holds rows
/// [first + b · kRoundedBlock, first + (b + 1) · kRoundedBlock) below first + count. No value
/// depends on the number of threads.
void round_blocks(const Weight& weight, std::int64_t first, std::int64_t count,
                  const Rounding& rounding, Threads& threads, const TakeBlock& take);

/// The whole matrix, with the codes and scales of round_blocks().
std::shared_ptr<PackedWeight> round_weight(const Weight& weight, const Rounding& rounding,
                                           Threads& threads);

}  // namespace sightline
