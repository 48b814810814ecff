// Ratios and step scales of packed weights (integer_form.hpp).
#include "tensor/integer_form.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

namespace sightline {
namespace {

constexpr std::uint8_t kMiddle8 = 128;

/// Bits by which a centred code is moved up: as far as 16 bits allow.
int shift_of(const PackedWeight& w) {
  const bool wide = w.zeros != nullptr;  // codes less any zero point have one bit more
  if (w.code == PackedCode::u4) return 0;
  if (w.code == PackedCode::i8) return 8;
  return wide || w.zero != kMiddle8 ? 7 : 8;
}

/// The greatest scale of a row within one step; NaN if one of them is not finite.
float greatest_scale(const PackedWeight& w, std::int64_t row, std::int64_t step) {
  const std::int64_t last = std::min(w.in, (step + 1) * kIntegerStep) - 1;
  const std::int64_t begin = w.group_of(row, step * kIntegerStep), end = w.group_of(row, last);
  float most = 0;
  for (std::int64_t g = begin; g <= end; ++g) {
    const float scale = std::abs(w.scale(g));
    if (!std::isfinite(scale)) return std::numeric_limits<float>::quiet_NaN();
    most = std::max(most, scale);
  }
  return most;
}

/// Σ (code − zero) of the columns [begin, end) of a row of 4-bit codes, which share a zero point;
/// `begin` is even.
std::int64_t sum_of_codes(const PackedWeight& w, std::int64_t row, std::int64_t begin,
                          std::int64_t end) {
  constexpr std::uint64_t kLow = 0x0f0f0f0f0f0f0f0f, kOnes = 0x0101010101010101;
  constexpr std::int64_t kCodes = 16;  // of a word; each byte of the sum of its halves is below 31
  const std::byte* codes = w.row(row);
  std::int64_t sum = 0, j = begin;
  for (; j + kCodes <= end; j += kCodes) {
    std::uint64_t word = 0;
    std::memcpy(&word, codes + j / 2, sizeof word);
    sum += static_cast<std::int64_t>((((word & kLow) + (word >> 4 & kLow)) * kOnes) >> 56);
  }
  for (; j < end; ++j)
    sum += std::to_integer<std::int64_t>(codes[j / 2] >> (j % 2 * 4) & std::byte{15});
  const std::int64_t zero = w.zeros != nullptr ? w.zeros[w.group_of(row, begin)] : w.zero;
  return sum - zero * (end - begin);
}

/// What kByteMiddle in place of every activation of a step adds to its sums, taken off.
std::int32_t offset_of(const PackedWeight& w, const std::int16_t* ratios, std::int64_t row,
                       std::int64_t step) {
  const std::int64_t end = std::min(w.in, (step + 1) * kIntegerStep);
  std::int64_t sum = 0;
  for (std::int64_t j = step * kIntegerStep; j < end;) {
    const std::int64_t next = std::min(end, (j / w.group_cols + 1) * w.group_cols);
    sum += ratios[w.group_of(row, j)] * sum_of_codes(w, row, j, next);
    j = next;
  }
  return static_cast<std::int32_t>(-kByteMiddle * sum);
}

/// What is made of a weight, before it becomes its integer form.
struct Made {
  const PackedWeight& weight;
  std::shared_ptr<std::vector<std::int16_t>> ratios;
  std::shared_ptr<std::vector<float>> scales;
  std::shared_ptr<std::vector<std::int32_t>> offsets;  // null without
  int shift = 0;
  std::atomic<bool> uniform = true;
};

/// Ratios and scale of one step of a row.
void make_step(Made& made, std::int64_t row, std::int64_t step) {
  const PackedWeight& w = made.weight;
  // ratio · code is code · scale / most · 2^11, ratio · (code << shift) / 2^15 that · 2^(shift -
  // 15).
  const float unit = std::ldexp(1.0F, w.code == PackedCode::u4 ? -11 : 4 - made.shift);
  const float most = greatest_scale(w, row, step);
  const auto at = static_cast<std::size_t>(step * w.out + row);
  (*made.scales)[at] = most * unit;
  const std::int64_t last = std::min(w.in, (step + 1) * kIntegerStep) - 1;
  for (std::int64_t g = w.group_of(row, step * kIntegerStep); g <= w.group_of(row, last); ++g) {
    // Rows of one block, and steps of one group, each write what is the same for all of them
    // only if their greatest scale is: a group of several steps is alone in each of them.
    // A step whose scale is 0 or NaN is that whatever its integers are: its codes.
    const float part = most > 0 ? w.scale(g) / most : 1.0F;
    const auto ratio =
        static_cast<std::int16_t>(std::lrint(part * static_cast<float>(IntegerForm::kMostRatio)));
    (*made.ratios)[static_cast<std::size_t>(g)] = ratio;
    if (ratio != IntegerForm::kMostRatio) made.uniform = false;
  }
  if (made.offsets) (*made.offsets)[at] = offset_of(w, made.ratios->data(), row, step);
}

}  // namespace

bool has_integer_form(const PackedWeight& w) {
  if (w.code == PackedCode::f8_e4m3 || w.in == 0 || w.out == 0) return false;
  if (w.code == PackedCode::i8 && (w.zeros != nullptr || w.zero != 0)) return false;
  // A group belongs to one step, or is made of whole steps.
  return w.group_cols >= w.in ||
         (w.group_cols % kIntegerChunk == 0 &&
          (kIntegerStep % w.group_cols == 0 || w.group_cols % kIntegerStep == 0));
}

void add_integer_form(PackedWeight& w, Threads* threads) {
  const std::int64_t steps = integer_steps(w.in);
  const auto count = static_cast<std::size_t>(steps * w.out);
  Made made{w,
            std::make_shared<std::vector<std::int16_t>>(static_cast<std::size_t>(w.scale_count())),
            std::make_shared<std::vector<float>>(count), nullptr, shift_of(w)};
  if (w.code == PackedCode::u4) made.offsets = std::make_shared<std::vector<std::int32_t>>(count);
  constexpr std::int64_t kRows = 64;  // of a block, at least; rows that share scales stay together
  const std::int64_t rows = (kRows + w.group_rows - 1) / w.group_rows * w.group_rows;
  const auto run = [&](std::int64_t block, int) {
    for (std::int64_t o = block * rows; o < std::min(w.out, (block + 1) * rows); ++o) {
      for (std::int64_t step = 0; step < steps; ++step) make_step(made, o, step);
    }
  };
  const std::int64_t blocks = (w.out + rows - 1) / rows;
  if (threads != nullptr) {
    threads->for_blocks(blocks, run);
  } else {
    for (std::int64_t block = 0; block < blocks; ++block) run(block, 0);
  }
  IntegerForm& form = w.integers;
  form.shift = made.shift;
  form.uniform = made.uniform;
  form.ratios = made.ratios->data();
  form.steps = made.scales->data();
  form.step_stride = w.out;
  form.offsets = made.offsets ? made.offsets->data() : nullptr;
  form.owned_ratios = std::move(made.ratios);
  form.owned_steps = std::move(made.scales);
  form.owned_offsets = std::move(made.offsets);
  if (w.scales == w.owned_scales.data()) w.scales = nullptr;
  w.owned_scales = {};
}

std::int32_t centred_code(const PackedWeight& w, std::int64_t row, std::int64_t column) {
  const std::byte* codes = w.row(row);
  if (w.code == PackedCode::i8)
    return static_cast<std::int8_t>(codes[static_cast<std::size_t>(column)]);
  const auto byte =
      static_cast<std::int32_t>(codes[w.code == PackedCode::u4 ? column / 2 : column]);
  const std::int32_t code = w.code == PackedCode::u8 ? byte
                            : column % 2 == 0        ? byte & 15
                                                     : byte >> 4;
  return code - (w.zeros != nullptr ? w.zeros[w.group_of(row, column)] : w.zero);
}

std::int32_t integer_at(const PackedWeight& w, std::int64_t row, std::int64_t column) {
  const std::int32_t ratio = w.integers.ratios[w.group_of(row, column)];
  if (w.code == PackedCode::u4) return centred_code(w, row, column) * ratio;
  const std::int32_t moved = centred_code(w, row, column) * (1 << w.integers.shift);
  constexpr std::int32_t kHalf = 1 << 14;
  return (moved * ratio + kHalf) >> 15;
}

}  // namespace sightline
