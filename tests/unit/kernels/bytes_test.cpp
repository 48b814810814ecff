// Protects products of bytes: the integers of 8 bits of the definition, what one register product
// of signed bytes computes, and, at every odd size, that vectors and tile registers (through their
// plain twins, on any machine) give the bits of the definition, for all kinds of codes that they
// multiply.
#include "kernels/bytes.hpp"

#include "base/cpu.hpp"
#include "kernels/byte_matmul.hpp"
#include "kernels/plain_tiles.hpp"
#include "unit/kernels/made_weight.hpp"

namespace sightline::kernels {
namespace {

TEST(Bytes, NarrowIntegersAreCodesAtTheGreatestScale) {
  for (int code = -128; code < 128; ++code) EXPECT_EQ(narrow_integer(code * 16), code);
  EXPECT_EQ(narrow_integer(2048), 127) << "the code -128 at the scale -greatest";
  EXPECT_EQ(narrow_integer(7), 0);
  EXPECT_EQ(narrow_integer(8), 1);
  EXPECT_EQ(narrow_integer(-8), 0);
  EXPECT_EQ(narrow_integer(-9), -1);
}

TEST(Bytes, StridesAreOddRuns) {
  EXPECT_EQ(byte_stride(1), 64);
  EXPECT_EQ(byte_stride(64), 64);
  EXPECT_EQ(byte_stride(65), 192);
  EXPECT_EQ(byte_stride(1024), 1088);
}

/// Random bytes of a tile of weights, [output][column], and of one of rows, [word][row][4].
struct ByteTilePair {
  std::int8_t a[16][64], b[16][16][4];

  explicit ByteTilePair(std::mt19937& engine) {
    for (auto& row : a) {
      for (std::int8_t& value : row) value = static_cast<std::int8_t>(engine());
    }
    for (auto& words : b) {
      for (auto& word : words) {
        for (std::int8_t& value : word) value = static_cast<std::int8_t>(engine());
      }
    }
  }
  [[nodiscard]] std::uint32_t plus_product(std::uint32_t c, std::int64_t m, std::int64_t n) const {
    std::int64_t sum = c;
    for (std::int64_t k = 0; k < 64; ++k) sum += a[m][k] * b[k / 4][n][k % 4];
    return static_cast<std::uint32_t>(sum);
  }
};

// Sums of 32 bits that wrap, nothing saturates; what lies outside of the configured sizes stays.
TEST(Bytes, APlainRegisterProductIsTheDefinition) {
  std::mt19937 engine(2);
  for (const std::int64_t outs : {16, 5, 1}) {
    for (const std::int64_t rows : {16, 7, 1}) {
      const ByteTilePair pair(engine);
      std::uint32_t c[16][16], expected[16][16] = {}, found[16][16] = {};
      for (auto& row : c) {
        for (std::uint32_t& value : row) value = 0x7fffffffU - static_cast<unsigned>(engine() % 9);
      }
      for (std::int64_t m = 0; m < outs; ++m) {
        for (std::int64_t n = 0; n < rows; ++n) expected[m][n] = pair.plus_product(c[m][n], m, n);
      }
      PlainTiles tiles;
      tiles.configure({{outs, 0}, {rows, 0}});
      tiles.load<0>(c, sizeof c[0]);
      tiles.load<4>(pair.a, sizeof pair.a[0]);
      tiles.load<6>(pair.b, sizeof pair.b[0]);
      tiles.multiply_bytes<0, 4, 6>();
      tiles.store<0>(found, sizeof found[0]);
      EXPECT_EQ(std::memcmp(found, expected, sizeof found), 0) << outs << " x " << rows;
    }
  }
}

/// Rows laid out and multiplied by one implementation; between the rows, and behind those of y,
/// lies what must not matter, or not change.
std::vector<float> product(const ByteProducts& bytes, const std::vector<float>& x,
                           std::int64_t rows, const PackedWeight& w, const float* bias) {
  const std::int64_t steps = integer_steps(w.in), stride = byte_stride(w.in);
  std::vector<float> spaced, scales(static_cast<std::size_t>(rows * steps));
  for (std::int64_t r = 0; r < rows; ++r) {
    spaced.insert(spaced.end(), x.begin() + r * w.in, x.begin() + (r + 1) * w.in);
    spaced.insert(spaced.end(), 3, NAN);
  }
  std::vector<std::byte> laid(static_cast<std::size_t>(rows * stride), std::byte{0x55});
  bytes.lay_rows({spaced.data(), w.in + 3, rows, w.in, laid.data(), scales.data()});
  constexpr float kUntouched = 77;
  const std::int64_t y_stride = w.out + 5;
  std::vector<float> y(static_cast<std::size_t>(rows * y_stride), kUntouched), dense;
  bytes.multiply(
      {laid.data(), stride, rows, scales.data(), steps, &w, 0, w.out, bias, y.data(), y_stride});
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = y.data() + r * y_stride;
    dense.insert(dense.end(), row, row + w.out);
    for (std::int64_t o = w.out; o < y_stride; ++o)
      EXPECT_EQ(row[o], kUntouched) << "written outside of y";
  }
  return dense;
}

/// Every number of rows and of outputs of one weight of 64 outputs.
void expect_definition_of(const ByteProducts& bytes, const Layout& layout) {
  Made made(layout, static_cast<unsigned>(layout.in + layout.group_cols));
  ASSERT_TRUE(has_integer_form(*made.packed));
  add_integer_form(*made.packed);
  const auto bias = random_values(layout.out, 8);
  const auto x = random_values(50 * layout.in, 9);
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 50}) {
    for (const std::int64_t outs : {1, 3, 4, 15, 17, 32, 35, 49, 64}) {
      if ((rows + outs + layout.in) % 3 != 0 && layout.in > 100) continue;  // a third of the many
      made.packed->out = outs;
      const float* added = (rows + outs) % 2 == 0 ? bias.data() : nullptr;
      ASSERT_TRUE(same_bits(product(bytes, x, rows, *made.packed, added),
                            product(kPlainBytes, x, rows, *made.packed, added)))
          << name_of(layout) << ", " << rows << " rows, " << outs << " outputs";
    }
  }
}

/// The bits of the definition for every kind of codes, width and group.
void expect_definition(const ByteProducts& bytes) {
  const std::pair<PackedCode, bool> kinds[] = {{PackedCode::i8, false},
                                               {PackedCode::u8, false},
                                               {PackedCode::u4, false},
                                               {PackedCode::u4, true}};
  for (const auto& [code, zeros] : kinds) {
    if (code == PackedCode::u4 && !bytes.nibbles) continue;
    for (const std::int64_t group : {32, 64, 128, 0}) {  // 0: one for all columns
      for (const std::int64_t in : {1, 31, 33, 63, 64, 65, 100, 511, 513, 608, 1100})
        expect_definition_of(bytes, {code, 64, in, 1, group == 0 ? in : group, zeros, DType::f32});
    }
  }
}

TEST(SlowByteTiles, HaveTheBitsOfTheDefinitionAtEverySize) { expect_definition(kPlainByteTiles); }

TEST(SlowByteVectors, HaveTheBitsOfTheDefinitionAtEverySize) {
  if (avx512_vnni_twin() == nullptr) GTEST_SKIP() << "this CPU lacks avx2 fma f16c";
  expect_definition(*avx512_vnni_twin()->bytes);
}

/// Scales that do not differ within a step; one row has none.
Made with_scales_alike(const Layout& layout) {
  Made made(layout);
  PackedWeight& w = *made.packed;
  w.owned_scales.clear();
  for (std::int64_t o = 0; o < w.out; ++o) {
    for (std::int64_t g = 0; g < w.groups; ++g) {
      const std::int64_t step = g * w.group_cols / kIntegerStep;
      made.put_scale(o == 2 ? 0.0F : 0.01F * static_cast<float>(1 + o % 7 + 3 * step));
    }
  }
  w.scales = w.owned_scales.data();
  add_integer_form(w);
  return made;
}

// Such codes are the integers: a shorter way of its own, which must not be seen.
void expect_codes_alone(const ByteProducts& bytes) {
  for (const PackedCode code : {PackedCode::u8, PackedCode::i8}) {
    for (const std::int64_t in : {1, 63, 64, 65, 511, 513, 1100, 8192 + 700}) {
      const Made made = with_scales_alike({code, 35, in, 1, 128, false, DType::f32});
      PackedWeight& w = *made.packed;
      ASSERT_TRUE(w.integers.uniform);
      const auto x = random_values(17 * in, 9);
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 17}) {
        for (const std::int64_t outs : {1, 3, 4, 35}) {
          w.out = outs;
          const auto expected = product(kPlainBytes, x, rows, w, nullptr);
          ASSERT_TRUE(same_bits(product(bytes, x, rows, w, nullptr), expected))
              << code_name(code) << " " << in << ", " << rows << " rows, " << outs << " outputs";
        }
      }
      w.integers.uniform = false;
      EXPECT_TRUE(
          same_bits(product(bytes, x, 1, w, nullptr), product(kPlainBytes, x, 1, w, nullptr)));
    }
  }
}

TEST(Bytes, CodesWhoseScalesAreAlike) {
  if (avx512_vnni_twin() == nullptr) GTEST_SKIP() << "this CPU lacks avx2 fma f16c";
  expect_codes_alone(*avx512_vnni_twin()->bytes);
}

TEST(Bytes, CodesWhoseScalesAreAlikeOnThisMachine) {
  const ByteProducts* bytes = select("auto").bytes;
  if (bytes == nullptr) GTEST_SKIP() << "this CPU's set has no products of bytes";
  expect_codes_alone(*bytes);
}

TEST(Bytes, ScalesThatDifferAreSeen) {
  Made made({PackedCode::u8, 3, 256, 1, 128, false, DType::f32});
  made.packed->owned_scales.clear();
  for (const float scale : {1.0F, 1.0F, 2.0F, 2.0F, 3.0F, 3.01F}) made.put_scale(scale);
  made.packed->scales = made.packed->owned_scales.data();
  add_integer_form(*made.packed);
  EXPECT_FALSE(made.packed->integers.uniform);
}

#if defined(__x86_64__)
TEST(SlowAmxByteTiles, HaveTheBitsOfTheDefinitionAtEverySize) {
  if (!cpu_features().amx_int8) GTEST_SKIP() << "this CPU lacks amx_int8";
  expect_definition(kAmxByteTiles);
}
#endif

// Ties, both signs of zero, the greatest magnitudes, and what is not finite.
TEST(Bytes, RoundAsDefined) {
  std::vector<float> x = random_values(3 * 1100, 4);
  for (std::size_t k = 0; k < 40; ++k) x[k] = (static_cast<float>(k) - 20.0F) / 2;
  x[40] = 127;  // so that the first step's halves are ties
  x[600] = 1e30F;
  x[1100 + 5] = INFINITY;
  x[2200 + 900] = NAN;
  for (std::size_t k = 2200; k < 2712; ++k) x[k] = 1e-39F;
  Made made({PackedCode::i8, 7, 1100, 1, 1100, false, DType::f32});
  add_integer_form(*made.packed);
  const auto expected = product(kPlainBytes, x, 3, *made.packed, nullptr);
  const auto same = [&](const std::vector<float>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(expected[i]) ? !std::isnan(found[i]) : found[i] != expected[i]) return false;
    }
    return true;
  };
  EXPECT_TRUE(same(product(kPlainByteTiles, x, 3, *made.packed, nullptr)));
  if (const Kernels* twin = avx512_vnni_twin()) {
    EXPECT_TRUE(same(product(*twin->bytes, x, 3, *made.packed, nullptr)));
  }
  for (std::size_t o = 0; o < 7; ++o) {
    EXPECT_FALSE(std::isnan(expected[o]));
    EXPECT_TRUE(std::isnan(expected[7 + o])) << "an infinite activation shows";
    EXPECT_TRUE(std::isnan(expected[14 + o]));
  }
}

// Which products take them: never a matter of the rows where it alters bits.
TEST(Bytes, WhatTakesThem) {
  Machine machine(select("amx-twin"), 1), plain(select("reference"), 1);
  const auto takes = [](const Machine& m, PackedCode code, bool zeros, std::int64_t rows) {
    Made made({code, 4, 128, 1, 32, zeros, DType::f32});
    add_integer_form(*made.packed);
    return takes_bytes(m.compute, made.weight(), rows);
  };
  for (const std::int64_t rows : {1, 40}) {
    EXPECT_TRUE(takes(machine, PackedCode::i8, false, rows));
    EXPECT_TRUE(takes(machine, PackedCode::u8, false, rows));
    EXPECT_FALSE(takes(machine, PackedCode::u8, true, rows)) << "zero points take a ninth bit";
    EXPECT_FALSE(takes(plain, PackedCode::i8, false, rows));
    EXPECT_FALSE(takes(plain, PackedCode::u4, false, rows));
  }
  EXPECT_FALSE(takes(machine, PackedCode::u4, false, 1));
  EXPECT_TRUE(takes(machine, PackedCode::u4, false, 40)) << "the same bits as one row";
  const Made floats({PackedCode::i8, 4, 128, 1, 32, false, DType::f32});
  EXPECT_FALSE(takes_bytes(machine.compute, floats.weight(), 40)) << "no integer form";
}

// What a product will need is asked for before it is counted, so that a plan knows it.
TEST(Bytes, CountAsOtherProductsDo) {
  Made made({PackedCode::i8, 70, 1024, 1, 128, false, DType::f32});
  add_integer_form(*made.packed);
  const auto counted = [&](const Kernels& set, std::size_t& scratch) {
    Threads threads(1);
    Arena arena(Arena::Kind::addresses);
    Tally tally{{}, true};
    Compute compute{set, threads, arena, nullptr, &tally, Precision::bf16};
    matmul(compute, ConstView(nullptr, 40, 1024), made.weight(), nullptr, View(nullptr, 40, 70));
    scratch = arena.peak_bytes();
    return tally.work;
  };
  std::size_t scratch = 0, none = 0;
  const Work work = counted(select("amx-twin"), scratch),
             expected = counted(select("reference"), none);
  EXPECT_EQ(work.flops, expected.flops);
  EXPECT_EQ(work.weight_bytes, expected.weight_bytes);
  EXPECT_EQ(work.activation_bytes, expected.activation_bytes);
  EXPECT_GE(scratch, static_cast<std::size_t>(40 * byte_stride(1024)));
}

}  // namespace
}  // namespace sightline::kernels
