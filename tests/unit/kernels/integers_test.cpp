// Protects products of rounded activations with packed weights: every set gives the bits of the
// definition, whatever the number of rows and threads; extreme codes and activations fit; what is
// not finite shows; and the result is near that of the float product.
#include <algorithm>
#include <limits>

#include "tensor/integer_form.hpp"
#include "tensor/quantise.hpp"
#include "unit/kernels/made_weight.hpp"

namespace sightline::kernels {
namespace {

const Layout kLayouts[] = {
    {PackedCode::u4, 37, 256, 1, 32, true, DType::f16},
    {PackedCode::u4, 16, 640, 1, 128, false, DType::bf16},
    {PackedCode::u4, 9, 1100, 1, 64, true, DType::f32},  // the last group and step are short
    {PackedCode::u4, 6, 1536, 1, 1024, false, DType::f32},
    {PackedCode::u4, 7, 61, 1, 61, true, DType::f16},
    {PackedCode::u4, 5, 8192 + 1100, 1, 32, true, DType::f16},  // more steps than wait for others
    {PackedCode::u4, 8, 512, 4, 256, true, DType::f32},
    {PackedCode::u8, 21, 520, 1, 520, false, DType::bf16},
    {PackedCode::u8, 18, 800, 1, 32, false, DType::f32},
    {PackedCode::u8, 5, 256, 1, 64, true, DType::f16},
    {PackedCode::u8, 3, 19, 1, 32, true, DType::f32},
    {PackedCode::i8, 33, 136, 1, 136, false, DType::f32},
    {PackedCode::i8, 130, 1300, 64, 128, false, DType::f32},
    {PackedCode::i8, 1, 3, 1, 3, false, DType::f32},
};

/// The same weight in integer form.
Made in_integers(const Layout& layout, unsigned seed = 3) {
  Made made(layout, seed);
  EXPECT_TRUE(has_integer_form(*made.packed)) << name_of(layout);
  add_integer_form(*made.packed);
  return made;
}

class IntegersTest : public EverySet {};

TEST_P(IntegersTest, HaveTheBitsOfTheDefinition) {
  for (const Layout& layout : kLayouts) {
    const Made made = in_integers(layout);
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 30}) {
      const auto x = random_values(rows * layout.in, 11);
      const auto expected = multiply(definition_of(set()), 1, x, rows, made.weight());
      for (const int threads : {1, 3}) {
        EXPECT_TRUE(same_bits(expected, multiply(set(), threads, x, rows, made.weight())))
            << name_of(layout) << ", " << rows << " rows, " << threads << " threads";
      }
      // A row alone is the row in company.
      const std::vector<float> last(x.end() - layout.in, x.end());
      EXPECT_TRUE(same_bits({expected.end() - layout.out, expected.end()},
                            multiply(set(), 1, last, 1, made.weight())))
          << name_of(layout) << ", " << rows << " rows";
    }
  }
}

// More rows than are put into groups at a time (16 MiB of them): a row in the second piece.
TEST_P(IntegersTest, BitsDoNotDependOnThePiece) {
  const Made made = in_integers({PackedCode::i8, 2, 4352, 1, 128, false, DType::f32});
  const std::int64_t rows = 1930;
  const auto x = random_values(rows * 4352, 11);
  const auto all = multiply(set(), 2, x, rows, made.weight());
  for (const std::int64_t row : {0, 95, 1919, 1920, 1929}) {
    const std::vector<float> alone(x.begin() + row * 4352, x.begin() + (row + 1) * 4352);
    EXPECT_TRUE(same_bits({all.begin() + row * 2, all.begin() + row * 2 + 2},
                          multiply(set(), 1, alone, 1, made.weight())))
        << "row " << row;
  }
}

// All codes and activations as far from zero as they go, in every combination of signs.
TEST_P(IntegersTest, ExtremesFit) {
  for (const PackedCode code : {PackedCode::u4, PackedCode::u8, PackedCode::i8}) {
    for (const int byte : {0x00, 0xff, 0x80, 0x7f}) {
      for (const float value : {3.0F, -3.0F}) {
        Made made({code, 5, 1024, 1, 128, false, DType::f32});
        std::fill(made.packed->owned_codes.begin(), made.packed->owned_codes.end(),
                  static_cast<std::byte>(byte));
        add_integer_form(*made.packed);
        for (const std::int64_t rows : {3, 6}) {
          const std::vector<float> x(static_cast<std::size_t>(rows * 1024), value);
          EXPECT_TRUE(same_bits(multiply(definition_of(set()), 1, x, rows, made.weight()),
                                multiply(set(), 1, x, rows, made.weight())))
              << code_name(code) << " " << byte << " " << value;
        }
      }
    }
  }
}

TEST_P(IntegersTest, WhatIsNotFiniteShows) {
  const Made made = in_integers({PackedCode::u4, 6, 600, 1, 32, false, DType::f32});
  for (const float odd :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto x = random_values(std::int64_t{4} * 600, 12);
    x[600 + 599] = odd;
    const auto y = multiply(set(), 1, x, 4, made.weight());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 6 == 1) << i;
  }
  // Zeros, and values without a reciprocal, give the bias.
  const auto bias = random_values(6, 8);
  std::vector<float> none(std::size_t{600}, 0.0F);
  EXPECT_TRUE(same_bits(multiply(set(), 1, none, 1, made.weight()), bias));
  std::fill(none.begin(), none.end(), 1e-39F);
  EXPECT_TRUE(same_bits(multiply(set(), 1, none, 1, made.weight()), bias));
}

// What rounding costs is far below what packing costs: int8 0.5 %, int4 9 %. Activations of 8 bits,
// the greatest of 512 about 3.5 times their root mean square: 3.5 / 127 / sqrt(12) = 0.8 %.
// Codes of 8 bits that are rounded to one scale for the step too: half a unit of the greatest
// scale, of codes 74 units wide at scales half as great, another 0.8 %.
TEST_P(IntegersTest, AreNearTheFloatProduct) {
  for (const Layout& layout : kLayouts) {
    if (layout.in < 100) continue;
    const Made made(layout);
    const auto x = random_values(7 * layout.in, 13);
    const auto wide = multiply(set(), 1, x, 7, made.wide());
    const auto rounded = multiply(set(), 1, x, 7, in_integers(layout).weight());
    const bool bytes = layout.code == PackedCode::u4 || (set().bytes != nullptr && !layout.zeros);
    const double narrow = layout.code == PackedCode::u4 ? 1e-2 : 1.2e-2;
    EXPECT_LT(relative_l2(rounded, wide), bytes ? narrow : 1.5e-3) << name_of(layout);
  }
}

std::vector<std::string> integer_sets() {
  std::vector<std::string> names = set_names();
  if (const Kernels* twin = avx512_vnni_twin()) names.emplace_back(name_of(*twin));
  names.emplace_back("amx-twin");
  return names;
}
INSTANTIATE_TEST_SUITE_P(, IntegersTest, testing::ValuesIn(integer_sets()),
                         [](const auto& info) { return test_name(info.param); });

TEST(IntegerForm, RowsAreWidenedAsTheyAreMultiplied) {
  const Made made = in_integers({PackedCode::u4, 4, 1100, 1, 64, true, DType::f32});
  std::vector<float> row(1100);
  widen_row(made.weight(), 2, row.data());
  for (std::int64_t k = 0; k < 1100; ++k) {
    const float step = made.packed->integers.steps[k / 512 * 4 + 2];
    EXPECT_EQ(row[static_cast<std::size_t>(k)],
              static_cast<float>(integer_at(*made.packed, 2, k)) * step);
    // A ratio is off by half of one, times a code less its zero point.
    EXPECT_NEAR(
        row[static_cast<std::size_t>(k)], made.values[static_cast<std::size_t>(2 * 1100 + k)],
        std::abs(step) *
            (0.5F * std::abs(static_cast<float>(centred_code(*made.packed, 2, k))) + 0.01F));
  }
}

TEST(IntegerForm, SomeRowsOfAWeight) {
  const Made made = in_integers({PackedCode::u4, 40, 640, 1, 32, true, DType::f16});
  const auto x = random_values(std::int64_t{2} * 640, 14);
  const auto all = multiply(select("auto"), 1, x, 2, made.weight());
  const Weight part{DType::f32, 9, 640, nullptr, rows_of(made.packed, 20, 9)};
  const auto some = multiply(select("auto"), 1, x, 2, part);
  const auto bias = random_values(40, 8), other = random_values(9, 8);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t o = 0; o < 9; ++o) {
      EXPECT_NEAR(some[r * 9 + o] - other[o], all[r * 40 + 20 + o] - bias[20 + o], 1e-5);
    }
  }
}

TEST(IntegerForm, OnlyWholeChunksAndIntegersHaveOne) {
  EXPECT_FALSE(has_integer_form(*Made({PackedCode::u4, 6, 50, 1, 5, true, DType::f32}).packed));
  EXPECT_FALSE(has_integer_form(*Made({PackedCode::u4, 6, 192, 1, 48, true, DType::f32}).packed));
  // 96 columns divide no step: a group would lie in two.
  EXPECT_FALSE(has_integer_form(*Made({PackedCode::u4, 6, 960, 1, 96, true, DType::f32}).packed));
  EXPECT_FALSE(
      has_integer_form(*Made({PackedCode::f8_e4m3, 8, 256, 8, 64, false, DType::f32}).packed));
}

// A scale that is not finite shows in its outputs and no other.
TEST(IntegerForm, AnOddScaleShows) {
  Made made({PackedCode::u4, 3, 1024, 1, 32, false, DType::f32});
  const float odd = std::numeric_limits<float>::infinity();
  std::memcpy(made.packed->owned_scales.data() + std::size_t{4} * 33, &odd, sizeof odd);  // row 1
  add_integer_form(*made.packed);
  const auto x = random_values(1024, 15);
  for (const char* set : {"reference", "auto"}) {
    const auto y = multiply(select(set), 1, x, 1, made.weight());
    EXPECT_FALSE(std::isnan(y[0])) << set;
    EXPECT_TRUE(std::isnan(y[1])) << set;
    EXPECT_FALSE(std::isnan(y[2])) << set;
  }
}

// A token reads codes, ratios, step scales and, for 4 bits, step offsets.
TEST(IntegerForm, CountsWhatItReads) {
  const Made made = in_integers({PackedCode::u4, 8, 1024, 1, 64, false, DType::f32});
  EXPECT_EQ(made.weight().bytes(), 8 * (512 + 16 * 2 + 2 * 4 + 2 * 4));
}

}  // namespace
}  // namespace sightline::kernels
