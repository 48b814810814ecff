// Protects the rounding of stored matrices: codes and scales mean what they say, errors are those
// that are reported, nothing depends on threads or on how rows are split, and odd values neither
// break nor hide; the fast form has the bits of the plain one.
#include "tensor/quantise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/bf16.hpp"
#include "tensor/integer_form.hpp"
#include "tensor/round_row.hpp"

namespace sightline {
namespace {

struct Matrix {
  std::vector<float> values;
  Weight weight;

  Matrix(std::int64_t out, std::int64_t in, unsigned seed = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0F, 0.02F);
    for (std::int64_t i = 0; i < out * in; ++i) values.push_back(normal(engine));
    weight = {DType::f32, out, in, reinterpret_cast<const std::byte*>(values.data())};
  }
};

float element(const PackedWeight& w, std::int64_t o, std::int64_t k) {
  const auto byte = static_cast<unsigned>(w.row(o)[w.code == PackedCode::u4 ? k / 2 : k]);
  const unsigned code = w.code == PackedCode::u8 ? byte : k % 2 == 0 ? byte & 15U : byte >> 4U;
  return (static_cast<float>(code) - static_cast<float>(w.zero)) * w.scale(w.group_of(o, k));
}

TEST(Rounding, GroupsDivideTheColumns) {
  EXPECT_EQ(rounding_for(8, 1024)->group_cols, 128);
  EXPECT_EQ(rounding_for(8, 192)->group_cols, 64);
  EXPECT_EQ(rounding_for(8, 96)->group_cols, 32);
  EXPECT_EQ(rounding_for(4, 1024)->group_cols, 32);
  EXPECT_EQ(rounding_for(4, 1024)->code, PackedCode::u4);
  EXPECT_FALSE(rounding_for(4, 48));
  EXPECT_FALSE(rounding_for(8, 0));
}

// 8 bits: half a step of 1/127 of the greatest of 128 normal values (about 2.7 deviations) is an
// error of 2.7 / 127 / sqrt(12) = 0.6 %. 4 bits in groups of 32: 2.1 / 7 / sqrt(12) = 8.7 %.
TEST(Rounding, ErrorsAreSmallAndTrue) {
  const Matrix m(24, 640);
  Threads threads(1);
  for (const auto& [bits, bound] : {std::pair{8, 0.008}, std::pair{4, 0.09}}) {
    const Rounding rounding = *rounding_for(bits, 640);
    const auto packed = round_weight(m.weight, rounding, threads);
    double error = 0, norm = 0, greatest = 0;
    for (std::int64_t o = 0; o < 24; ++o) {
      for (std::int64_t k = 0; k < 640; ++k) {
        const double value = static_cast<double>(m.values[static_cast<std::size_t>(o * 640 + k)]);
        const double off = value - static_cast<double>(element(*packed, o, k));
        error += off * off;
        norm += value * value;
        greatest = std::max(greatest, std::abs(off));
      }
    }
    EXPECT_LT(std::sqrt(error / norm), bound) << bits;
    const RoundingError told = round_rows(m.weight, 0, 24, rounding).error;
    EXPECT_NEAR(told.error, error, 1e-5 * error);
    EXPECT_NEAR(told.norm, norm, 1e-5 * norm);
    EXPECT_NEAR(told.greatest, greatest, 1e-5 * greatest);
  }
}

// Groups of 8 bits within a step of integer products have one scale, so that their codes are the
// integers; those of 4 bits have their own.
TEST(Rounding, EightBitsShareTheScaleOfAStep) {
  const Matrix m(3, 640);
  Threads threads(1);
  for (const int bits : {8, 4}) {
    const auto packed = round_weight(m.weight, *rounding_for(bits, 640), threads);
    bool alike = true;
    for (std::int64_t o = 0; o < 3; ++o) {
      for (std::int64_t k = 0; k < 512; ++k)
        alike =
            alike && packed->scale(packed->group_of(o, k)) == packed->scale(packed->group_of(o, 0));
      EXPECT_NE(packed->scale(packed->group_of(o, 0)), packed->scale(packed->group_of(o, 512)));
    }
    EXPECT_EQ(alike, bits == 8);
    add_integer_form(*packed);
    EXPECT_EQ(packed->integers.uniform, bits == 8);
  }
}

// Values whose squares no float holds: the error is a number, and the value is not lost.
TEST(Rounding, TheGreatestValuesHaveAnError) {
  Matrix m(4, 128);
  constexpr float kGreat = 3.38e38F;
  m.values[130] = kGreat;  // row 1
  for (const int bits : {4, 8}) {
    const Rounding rounding = *rounding_for(bits, 128);
    const RoundingError told = round_rows(m.weight, 0, 4, rounding).error;
    EXPECT_TRUE(std::isfinite(told.error)) << bits;
    EXPECT_NEAR(told.norm, std::pow(static_cast<double>(kGreat), 2), 1e-5 * told.norm) << bits;
    EXPECT_LT(told.error, 1e-4 * told.norm) << bits;
    Threads threads(1);
    const float back = element(*round_weight(m.weight, rounding, threads), 1, 2);
    EXPECT_NEAR(back / kGreat, 1.0F, 0.01F) << bits;
  }
}

TEST(Rounding, RowsAndThreadsDoNotMatter) {
  const Matrix m(75, 96, 2);
  for (const int bits : {4, 8}) {
    const Rounding rounding = *rounding_for(bits, 96);
    Threads one(1), three(3);
    const auto a = round_weight(m.weight, rounding, one);
    const auto b = round_weight(m.weight, rounding, three);
    EXPECT_EQ(a->owned_codes, b->owned_codes);
    EXPECT_EQ(a->owned_scales, b->owned_scales);
    const RoundedRows some = round_rows(m.weight, 40, 10, rounding);
    EXPECT_TRUE(std::equal(some.codes.begin(), some.codes.end(),
                           a->owned_codes.begin() + 40 * a->row_bytes));
  }
}

// bfloat16 and float16 matrices are rounded as their values are.
TEST(Rounding, StoredTypes) {
  Matrix m(4, 128, 3);
  std::vector<std::uint16_t> half(m.values.size()), brain(m.values.size());
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    brain[i] = to_bf16(m.values[i]).bits;
    half[i] = static_cast<std::uint16_t>(brain[i] & 0xbfffU);  // some normal numbers below 2
  }
  const Rounding rounding = *rounding_for(4, 128);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const std::vector<std::uint16_t>& bits = dtype == DType::bf16 ? brain : half;
    for (std::size_t i = 0; i < bits.size(); ++i)
      m.values[i] = dtype == DType::bf16 ? widen(bf16{bits[i]}) : widen(f16{bits[i]});
    const Weight stored{dtype, 4, 128, reinterpret_cast<const std::byte*>(bits.data())};
    EXPECT_EQ(round_rows(stored, 0, 4, rounding).codes, round_rows(m.weight, 0, 4, rounding).codes);
  }
}

TEST(Rounding, ZerosAndWhatIsNotFinite) {
  Matrix m(3, 64, 4);
  std::fill(m.values.begin(), m.values.begin() + 32, 0.0F);
  std::fill(m.values.begin() + 32, m.values.begin() + 64, 1e-41F);
  m.values[70] = std::numeric_limits<float>::infinity();
  m.values[140] = std::numeric_limits<float>::quiet_NaN();
  Threads threads(1);
  for (const int bits : {4, 8}) {
    const auto packed = round_weight(m.weight, *rounding_for(bits, 64), threads);
    for (std::int64_t k = 0; k < 64; ++k) {
      EXPECT_EQ(element(*packed, 0, k), 0.0F);
      EXPECT_EQ(std::isnan(element(*packed, 1, k)), bits == 8 || k < 32) << k;
      EXPECT_EQ(std::isnan(element(*packed, 2, k)), bits == 8 || k < 32) << k;
    }
  }
}

/// Codes and scales of a row, and what was lost.
struct OneRow {
  std::vector<std::byte> codes, scales;
  RoundingError error;

  OneRow(RoundRow round_row, const Weight& weight, std::int64_t row, const Rounding& rounding)
      : codes(static_cast<std::size_t>(packed_row_bytes(rounding.code, weight.in))),
        scales(static_cast<std::size_t>(weight.in / rounding.group_cols * 2)) {
    round_row(weight, row, rounding, {codes.data(), scales.data(), &error});
  }
};

void expect_plain_bits(const Weight& weight, const Rounding& rounding) {
  for (std::int64_t row = 0; row < weight.out; ++row) {
    const OneRow plain(round_row_plain, weight, row, rounding),
        best(best_round_row(), weight, row, rounding);
    EXPECT_EQ(plain.codes, best.codes);
    EXPECT_EQ(plain.scales, best.scales);
    EXPECT_EQ(plain.error.error, best.error.error);
    EXPECT_EQ(plain.error.norm, best.error.norm);
    EXPECT_EQ(plain.error.greatest, best.error.greatest);
  }
}

// What this machine rounds with has the bits of what every machine has: codes, scales, errors.
TEST(Rounding, TheMachinesSetGivesThePlainBits) {
  constexpr std::int64_t kIn = 1024;
  for (const float spread : {0.02F, 1e-32F, 3e15F}) {
    Matrix m(6, kIn, 5);
    for (float& value : m.values) value *= spread / 0.02F;
    for (std::size_t k = 0; k < 32; ++k) m.values[k] = 0.5F * static_cast<float>(k) - 8;  // ties
    m.values[40] = -0.0F;
    m.values[kIn + 7] = std::numeric_limits<float>::infinity();
    std::vector<bf16> brain;
    for (const float value : m.values) brain.push_back(to_bf16(value));
    const Weight stored{DType::bf16, 6, kIn, reinterpret_cast<const std::byte*>(brain.data())};
    for (const Rounding& rounding : {Rounding{PackedCode::u4, 32}, Rounding{PackedCode::u8, 32},
                                     Rounding{PackedCode::u8, 64}, Rounding{PackedCode::u8, 128}}) {
      expect_plain_bits(m.weight, rounding);
      expect_plain_bits(stored, rounding);
    }
  }
}

// The integer form, too, does not depend on threads.
TEST(Rounding, IntegerFormsOnAnyNumberOfThreads) {
  const Matrix m(301, 1120, 6);  // more than one block of rows, and a step that is not whole
  for (const int bits : {4, 8}) {
    Threads threads(3);
    const auto alone = round_weight(m.weight, *rounding_for(bits, 1120), threads),
               shared = round_weight(m.weight, *rounding_for(bits, 1120), threads);
    add_integer_form(*alone);
    add_integer_form(*shared, &threads);
    EXPECT_EQ(*alone->integers.owned_ratios, *shared->integers.owned_ratios);
    EXPECT_EQ(*alone->integers.owned_steps, *shared->integers.owned_steps);
    ASSERT_EQ(alone->integers.offsets != nullptr, bits == 4);
    if (bits != 4) continue;
    EXPECT_EQ(*alone->integers.owned_offsets, *shared->integers.owned_offsets);
    EXPECT_EQ(shared->integers.offsets, shared->integers.owned_offsets->data());
  }
}

}  // namespace
}  // namespace sightline
