// Rearranges the 4- and 8-bit codes of other layouts into rows of outputs, the order of
// PackedWeight. Pure functions over bytes; sizes were checked by the caller. Words are
// little-endian and hold 32 / bits codes, the first in the lowest bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "tensor/packed_weight.hpp"

namespace sightline::io {

/// Code `index` of packed words.
std::uint8_t packed_code(const std::byte* words, std::int64_t index, PackedCode code);

/// GPTQ: words [in · bits / 32, rounded up][out], eight (or four) inputs of one output in a word.
/// Rows of packed_row_bytes(code, in, 4) bytes.
Bytes rows_of_gptq(const std::byte* words, std::int64_t out, std::int64_t in, PackedCode code);

/// AWQ: words [in][out / 8], eight outputs of one input in a word, in the order 0 2 4 6 1 3 5 7.
/// Rows of packed_row_bytes(u4, in, 4) bytes. Source: AutoAWQ, modules/linear/gemm.py.
Bytes rows_of_awq(const std::byte* words, std::int64_t out, std::int64_t in);

/// Output o's code of one AWQ row of words.
std::uint8_t awq_code(const std::byte* words, std::int64_t o);

/// The same rows with column columns[j] at place j.
Bytes with_columns(const std::byte* rows, std::int64_t row_bytes, std::int64_t out,
                   std::span<const std::int32_t> columns, PackedCode code);

}  // namespace sightline::io
