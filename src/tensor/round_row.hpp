// One row of a stored matrix to codes and scales (quantise.hpp), compiled for more than one
// instruction set with the same operations in the same order: every set gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/quantise.hpp"

namespace sightline {

/// Where a rounded row goes.
struct RoundedRow {
  std::byte* codes = nullptr;      ///< packed_row_bytes(code, in)
  std::byte* scales = nullptr;     ///< bfloat16, one a group
  RoundingError* error = nullptr;  ///< what is lost is added here, unless null
};

using RoundRow = void (*)(const Weight& weight, std::int64_t row, const Rounding& rounding,
                          const RoundedRow& to);

/// For any machine.
void round_row_plain(const Weight& weight, std::int64_t row, const Rounding& rounding,
                     const RoundedRow& to);

/// The fastest that this machine runs.
RoundRow best_round_row();

}  // namespace sightline
