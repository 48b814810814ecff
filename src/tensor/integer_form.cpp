// Ratios and step scales of packed weights (integer_form.hpp).
#include "tensor/integer_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sightline {
namespace {

constexpr std::uint8_t kMiddle4 = 8, kMiddle8 = 128;

/// Bits by which a centred code is moved up: as far as 16 bits allow.
int shift_of(const PackedWeight& w) {
  const bool wide = w.zeros != nullptr;  // codes less any zero point have one bit more
  if (w.code == PackedCode::u4) return wide || w.zero != kMiddle4 ? 11 : 12;
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

}  // namespace

bool has_integer_form(const PackedWeight& w) {
  if (w.code == PackedCode::f8_e4m3 || w.in == 0 || w.out == 0) return false;
  if (w.code == PackedCode::i8 && (w.zeros != nullptr || w.zero != 0)) return false;
  // A group belongs to one step, or is made of whole steps.
  return w.group_cols >= w.in ||
         (w.group_cols % kIntegerChunk == 0 &&
          (kIntegerStep % w.group_cols == 0 || w.group_cols % kIntegerStep == 0));
}

void add_integer_form(PackedWeight& w) {
  const std::int64_t steps = integer_steps(w.in);
  auto ratios =
      std::make_shared<std::vector<std::int16_t>>(static_cast<std::size_t>(w.scale_count()));
  auto scales = std::make_shared<std::vector<float>>(static_cast<std::size_t>(steps * w.out));
  IntegerForm& form = w.integers;
  form.shift = shift_of(w);
  // ratio · (code << shift) / 2^15 is code · scale / most · 2^(shift - 4)
  const float unit = std::ldexp(1.0F, 4 - form.shift);
  for (std::int64_t o = 0; o < w.out; ++o) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const float most = greatest_scale(w, o, step);
      (*scales)[static_cast<std::size_t>(step * w.out + o)] = most * unit;
      const std::int64_t last = std::min(w.in, (step + 1) * kIntegerStep) - 1;
      for (std::int64_t g = w.group_of(o, step * kIntegerStep); g <= w.group_of(o, last); ++g) {
        // Rows of one block, and steps of one group, each write what is the same for all of them
        // only if their greatest scale is: a group of several steps is alone in each of them.
        const bool none = !(most > 0);
        (*ratios)[static_cast<std::size_t>(g)] = static_cast<std::int16_t>(
            none ? 0 : std::lrint(w.scale(g) / most * static_cast<float>(IntegerForm::kMostRatio)));
      }
    }
  }
  form.ratios = ratios->data();
  form.steps = scales->data();
  form.step_stride = w.out;
  form.owned_ratios = std::move(ratios);
  form.owned_steps = std::move(scales);
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
  const std::int32_t moved = centred_code(w, row, column) * (1 << w.integers.shift);
  const std::int32_t ratio = w.integers.ratios[w.group_of(row, column)];
  constexpr std::int32_t kHalf = 1 << 14;
  return (moved * ratio + kHalf) >> 15;
}

}  // namespace sightline
