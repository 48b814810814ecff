// Protects products with packed weights: codes mean what the formats say, odd sizes and groups
// included; every set gives the bits that it gives for the same weights in float32, for few rows
// and many; and the order of columns of GPTQ's act order.
#include <algorithm>
#include <numeric>

#include "unit/kernels/made_weight.hpp"

namespace sightline::kernels {
namespace {

const Layout kLayouts[] = {
    // What checkpoints have: groups of 32, 64 and 128, one scale a row, blocks, one scale.
    {PackedCode::u4, 37, 256, 1, 32, true, DType::f16},
    {PackedCode::u4, 16, 640, 1, 128, false, DType::bf16},
    {PackedCode::u4, 9, 1100, 1, 64, true, DType::f32},
    {PackedCode::u8, 21, 520, 1, 520, false, DType::bf16},
    {PackedCode::u8, 5, 256, 1, 64, true, DType::f16},
    {PackedCode::i8, 33, 136, 1, 136, false, DType::f32},
    {PackedCode::f8_e4m3, 150, 600, 128, 128, false, DType::f32},
    {PackedCode::f8_e4m3, 17, 96, 1, 96, false, DType::bf16},
    {PackedCode::f8_e4m3, 8, 64, 8, 64, false, DType::f32},
    // Odd ones: rows that end inside of a vector or byte, groups that do, single columns.
    {PackedCode::u4, 7, 61, 1, 61, true, DType::f16},
    {PackedCode::u4, 5, 77, 1, 32, false, DType::bf16},
    {PackedCode::u4, 6, 50, 1, 5, true, DType::f32},
    {PackedCode::u4, 4, 60, 1, 10, true, DType::f32},
    {PackedCode::u4, 3, 1, 1, 1, false, DType::f32},
    {PackedCode::u8, 3, 19, 1, 7, true, DType::f32},
    {PackedCode::f8_e4m3, 5, 43, 3, 12, false, DType::f16},
    {PackedCode::i8, 1, 3, 1, 3, false, DType::f32},
};

class PackedTest : public EverySet {};

TEST_P(PackedTest, UnpacksToTheDefinition) {
  for (const Layout& layout : kLayouts) {
    const Made made(layout);
    std::vector<float> row(static_cast<std::size_t>(layout.in));
    for (std::int64_t o = 0; o < layout.out; ++o) {
      set().unpack({made.packed.get(), o, 0, layout.in}, row.data());
      const auto first = made.values.begin() + o * layout.in;
      EXPECT_TRUE(same_bits(row, {first, first + layout.in})) << name_of(layout) << " row " << o;
    }
    if (layout.in < 9) continue;
    row.resize(7);  // a run inside of a row
    set().unpack({made.packed.get(), layout.out - 1, 2, 7}, row.data());
    const auto first = made.values.begin() + (layout.out - 1) * layout.in + 2;
    EXPECT_TRUE(same_bits(row, {first, first + 7})) << name_of(layout);
  }
}

TEST_P(PackedTest, ProductsHaveTheBitsOfTheFloat32Weights) {
  for (const Layout& layout : kLayouts) {
    const Made made(layout);
    for (const std::int64_t rows : {1, 2, 3, 4, 7, 30}) {
      const auto x = random_values(rows * layout.in, 11);
      const auto wide = multiply(set(), 1, x, rows, made.wide());
      for (const int threads : {1, 3}) {
        EXPECT_TRUE(same_bits(wide, multiply(set(), threads, x, rows, made.weight())))
            << name_of(layout) << ", " << rows << " rows, " << threads << " threads";
      }
    }
  }
}

TEST_P(PackedTest, ColumnsInAnotherOrderAreGathered) {
  const Made made({PackedCode::u4, 12, 96, 1, 32, true, DType::f16});
  PackedWeight& w = *made.packed;
  std::vector<std::int32_t> columns(96);
  std::iota(columns.begin(), columns.end(), 0);
  std::shuffle(columns.begin(), columns.end(), std::mt19937(5));
  w.owned_columns = columns;
  w.columns = w.owned_columns.data();
  const std::int64_t rows = 5;
  const auto x = random_values(rows * 96, 12);
  std::vector<float> ordered(x.size());
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t j = 0; j < 96; ++j)
      ordered[r * 96 + j] = x[r * 96 + static_cast<std::size_t>(columns[j])];
  }
  EXPECT_TRUE(same_bits(multiply(set(), 2, x, rows, made.weight()),
                        multiply(set(), 1, ordered, rows, made.wide())));
  std::vector<float> row(96);
  widen_row(made.weight(), 3, row.data());
  for (std::size_t j = 0; j < 96; ++j)
    EXPECT_EQ(row[static_cast<std::size_t>(columns[j])], made.values[3 * 96 + j]);
}

// Every code of an 8-bit float, the NaNs among them.
TEST_P(PackedTest, EveryFloat8) {
  Made made({PackedCode::f8_e4m3, 1, 256, 1, 256, false, DType::f32});
  PackedWeight& w = *made.packed;
  for (std::size_t i = 0; i < 256; ++i) w.owned_codes[i] = static_cast<std::byte>(i);
  std::vector<float> row(256);
  set().unpack({&w, 0, 0, 256}, row.data());
  for (std::int64_t i = 0; i < 256; ++i) {
    const float found = row[static_cast<std::size_t>(i)];
    if (i % 128 == 127) {
      EXPECT_TRUE(std::isnan(found)) << i;
    } else {
      EXPECT_EQ(found, made.value(0, i)) << i;
    }
  }
}

SIGHTLINE_EVERY_SET(PackedTest);

// The bytes that a token reads are those of the codes, scales and zero points.
TEST(PackedWeightTest, CountsWhatItReads) {
  const Made made({PackedCode::u4, 8, 256, 1, 64, true, DType::f16});
  EXPECT_EQ(made.weight().bytes(), 8 * 128 + 8 * 4 * 3);
  Machine machine(select("reference"), 1);
  Tally tally{{}, true};
  machine.compute.tally = &tally;
  matmul(machine.compute, ConstView(nullptr, 2, 256), made.weight(), nullptr, View(nullptr, 2, 8));
  EXPECT_EQ(tally.work.weight_bytes, made.weight().bytes());
  EXPECT_EQ(tally.work.flops, 2 * 2 * 8 * 256);
}

}  // namespace
}  // namespace sightline::kernels
