// Matrices to packed codes, row by row (quantise.hpp).
#include "tensor/quantise.hpp"

#include <algorithm>
#include <array>

#include "tensor/round_row.hpp"

namespace sightline {
namespace {

constexpr std::int64_t kWordBytes = 4;
constexpr std::int64_t kGroups8[] = {128, 64, 32}, kGroups4[] = {32};

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
  const std::int64_t scale_bytes = weight.in / rounding.group_cols * dtype_size(DType::bf16);
  rows.codes.resize(static_cast<std::size_t>(count * row_bytes));
  rows.scales.resize(static_cast<std::size_t>(count * scale_bytes));
  const RoundRow round_row = best_round_row();
  for (std::int64_t r = 0; r < count; ++r)
    round_row(
        weight, first + r, rounding,
        {rows.codes.data() + r * row_bytes, rows.scales.data() + r * scale_bytes, &rows.error});
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
  packed->zero = rounding.code == PackedCode::u4 ? 8 : 128;
  const std::int64_t scale_bytes = packed->groups * dtype_size(DType::bf16);
  packed->owned_codes.resize(static_cast<std::size_t>(weight.out * packed->row_bytes));
  packed->owned_scales.resize(static_cast<std::size_t>(weight.out * scale_bytes));
  const RoundRow round_row = best_round_row();
  const std::int64_t blocks = (weight.out + kRoundedBlock - 1) / kRoundedBlock;
  threads.for_blocks(blocks, [&](std::int64_t block, int) {
    const std::int64_t first = block * kRoundedBlock;
    for (std::int64_t row = first; row < std::min(weight.out, first + kRoundedBlock); ++row)
      round_row(weight, row, rounding,
                {packed->owned_codes.data() + row * packed->row_bytes,
                 packed->owned_scales.data() + row * scale_bytes, nullptr});
  });
  packed->codes = packed->owned_codes.data();
  packed->scales = packed->owned_scales.data();
  return packed;
}

}  // namespace sightline
