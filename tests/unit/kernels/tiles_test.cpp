// Protects products of bfloat16 in tile registers and in vectors of pairs: what one register
// product computes, down to denormal numbers and infinities; the loops over them, at every size,
// against double precision; and, where the machine has the registers, that the plain ones compute
// the same bits.
#include "kernels/tiles.hpp"

#include <limits>

#include "base/cpu.hpp"
#include "kernels/plain_tiles.hpp"
#include "unit/kernels/sets.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sightline::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastNormal = 0x1p-126F;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The same number, or both none.
bool same(float a, float b) { return (a != a && b != b) || bits_of(a) == bits_of(b); }

// The definition's corners, written out.
TEST(TileStep, RoundsOnceAndKnowsNoDenormalNumbers) {
  EXPECT_EQ(multiply_add_in_tile(3, 5, 7), 22);
  // Fused: 1 + 2^-24 + 2^-32 rounds up, 1 + 2^-24 alone would stay 1.
  EXPECT_EQ(multiply_add_in_tile(0x1.02p-12F, 0x1.02p-12F, 1), 1 + 0x1p-23F);
  EXPECT_EQ(multiply_add_in_tile(0x1p-12F, 0x1p-12F, 1), 1);
  EXPECT_EQ(multiply_add_in_tile(0x1p-12F, 0x1p-12F, 1 + 0x1p-23F), 1 + 0x1p-22F);  // tie to even
  // Far apart: nothing is left of the smaller operand, whichever it is.
  EXPECT_EQ(multiply_add_in_tile(0x1p-60F, 0x1p-60F, 1), 1);
  EXPECT_EQ(multiply_add_in_tile(0x1p-60F, -0x1p-60F, 1), 1);
  EXPECT_EQ(multiply_add_in_tile(0x1p60F, 0x1p60F, -1), 0x1p120F);
  EXPECT_EQ(multiply_add_in_tile(0x1p60F, -0x1p60F, kLeastNormal), -0x1p120F);
  // Too small: zero with the sign of what it was.
  EXPECT_TRUE(same(multiply_add_in_tile(0x1p-70F, 0x1p-57F, 0), 0.0F));
  EXPECT_TRUE(same(multiply_add_in_tile(0x1p-70F, -0x1p-57F, 0), -0.0F));
  EXPECT_TRUE(same(multiply_add_in_tile(-0x1p-64F, 0x1p-63F, kLeastNormal), 0.0F));
  // Rounded to 24 bits first: 2^-126 less 2^-150 is the number before, less 2^-151 a tie.
  EXPECT_TRUE(same(multiply_add_in_tile(-0x1p-75F, 0x1p-75F, kLeastNormal), 0.0F));
  EXPECT_EQ(multiply_add_in_tile(-0x1p-76F, 0x1p-75F, kLeastNormal), kLeastNormal);
  EXPECT_EQ(multiply_add_in_tile(-0x1p-77F, 0x1p-75F, kLeastNormal), kLeastNormal);
  // What is not finite.
  EXPECT_EQ(multiply_add_in_tile(kInfinity, -2, 1), -kInfinity);
  EXPECT_TRUE(std::isnan(multiply_add_in_tile(kInfinity, 0, 1)));
  EXPECT_TRUE(std::isnan(multiply_add_in_tile(kInfinity, 1, -kInfinity)));
  EXPECT_TRUE(std::isnan(multiply_add_in_tile(kNan, 1, 1)));
  EXPECT_EQ(multiply_add_in_tile(0x1p100F, 0x1p100F, 1), kInfinity);
  // Zeros.
  EXPECT_TRUE(same(multiply_add_in_tile(-1, 0, 0), 0.0F));
  EXPECT_TRUE(same(multiply_add_in_tile(1, 1, -1), 0.0F));
  EXPECT_TRUE(same(add_in_tile(-0.0F, -0.0F), -0.0F));
  EXPECT_TRUE(same(add_in_tile(-0.0F, 0x1p-130F), 0.0F));
  EXPECT_TRUE(same(add_in_tile(-kLeastNormal, 1.5F * kLeastNormal), 0.0F));
  EXPECT_TRUE(same(add_in_tile(kLeastNormal, -1.5F * kLeastNormal), -0.0F));
  EXPECT_TRUE(same(read_in_tile(-0x1p-140F), -0.0F));
  EXPECT_EQ(read_in_tile(kLeastNormal), kLeastNormal);
}

#if defined(__x86_64__)
/// This CPU's own fused multiply-add with denormal operands and results taken as zero.
__attribute__((target("fma"))) float fma_without_denormals(float a, float b, float sum) {
  constexpr unsigned kZeros = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kZeros);
  __m128 x = _mm_set_ss(a), y = _mm_set_ss(b), z = _mm_set_ss(sum);
  __asm__ volatile("vfmadd213ss %2, %1, %0" : "+x"(x) : "x"(y), "x"(z));
  _mm_setcsr(before);
  return _mm_cvtss_f32(x);
}
__attribute__((target("fma"))) float add_without_denormals(float a, float b) {
  return fma_without_denormals(a, 1, b);
}

/// A float32 of any exponent near that of `around`, or of any at all.
float near_in_exponent(std::mt19937& engine, int around, int spread, std::uint32_t mask) {
  const int exponent = std::clamp(
      around + static_cast<int>(engine() % static_cast<unsigned>(2 * spread + 1)) - spread, 0, 255);
  const auto random = static_cast<std::uint32_t>(engine());
  return std::bit_cast<float>((random & (mask | 0x80000000U)) |
                              (static_cast<std::uint32_t>(exponent) << 23U));
}

TEST(TileStep, IsTheFusedInstructionWithoutDenormalNumbers) {
  if (!cpu_features().fma) GTEST_SKIP() << "this CPU lacks fma";
  std::mt19937 engine(1);
  constexpr std::uint32_t kBf16 = 0x007f0000U, kFloat = 0x007fffffU;
  for (int i = 0; i < 2'000'000; ++i) {
    const int a_exponent = static_cast<int>(engine() % 256);
    const float a = read_in_tile(near_in_exponent(engine, a_exponent, 0, kBf16));
    // Half of the products are near the least normal number.
    const bool small = i % 2 == 0;
    const int b_exponent = small ? 128 - a_exponent : static_cast<int>(engine() % 256);
    const float b = read_in_tile(near_in_exponent(engine, b_exponent, small ? 3 : 0, kBf16));
    const int product = std::clamp(a_exponent + b_exponent - 127, 0, 254);
    // Sparse significands make ties and cancellation likely.
    const std::uint32_t mask = i % 3 == 0 ? kBf16 : i % 3 == 1 ? kFloat : kFloat & engine();
    const float sum = read_in_tile(near_in_exponent(engine, product, i % 5 == 0 ? 40 : 3, mask));
    ASSERT_TRUE(same(multiply_add_in_tile(a, b, sum), fma_without_denormals(a, b, sum)))
        << std::hexfloat << a << " " << b << " " << sum;
    ASSERT_TRUE(same(add_in_tile(a, sum), add_without_denormals(a, sum)))
        << std::hexfloat << a << " " << sum;
  }
}
#endif

/// A register product as the manual states it, with the C library's fused multiply-add; for values
/// far from denormal numbers.
TEST(TileStep, APlainRegisterProductIsTheDefinition) {
  std::mt19937 engine(2);
  std::normal_distribution<float> normal;
  for (const std::int64_t outs : {16, 5, 1}) {
    for (const std::int64_t rows : {16, 7, 1}) {
      bf16 a[kTileSide][kTileDepth], b[kTileDepth / 2][kTileSide][2];
      float c[kTileSide][kTileSide], expected[kTileSide][kTileSide] = {};
      for (auto& row : a) {
        for (bf16& value : row) value = to_bf16(normal(engine));
      }
      for (auto& pairs : b) {
        for (auto& pair : pairs) {
          for (bf16& value : pair) value = to_bf16(normal(engine));
        }
      }
      for (auto& row : c) {
        for (float& value : row) value = normal(engine);
      }
      for (std::int64_t m = 0; m < outs; ++m) {
        for (std::int64_t n = 0; n < rows; ++n) {
          float even = 0, odd = 0;
          for (std::int64_t k = 0; k < kTileDepth / 2; ++k) {
            even = std::fma(widen(a[m][2 * k]), widen(b[k][n][0]), even);
            odd = std::fma(widen(a[m][2 * k + 1]), widen(b[k][n][1]), odd);
          }
          expected[m][n] = c[m][n] + (even + odd);
        }
      }
      PlainTiles tiles;
      tiles.configure({{outs, 0}, {rows, 0}});
      tiles.load<0>(c, sizeof c[0]);
      tiles.load<4>(a, sizeof a[0]);
      tiles.load<6>(b, sizeof b[0]);
      tiles.multiply<0, 4, 6>();
      float found[kTileSide][kTileSide] = {};
      tiles.store<0>(found, sizeof found[0]);
      EXPECT_EQ(std::memcmp(found, expected, sizeof found), 0) << outs << " x " << rows;
    }
  }
}

struct Case {
  std::int64_t rows, outs, in;
};

/// A product's operands; one byte before the weights, so that nothing is aligned.
struct Operands {
  Case size;
  std::vector<float> x, weights, bias;
  std::vector<std::byte> stored;

  Operands(const Case& c, unsigned seed)
      : size(c),
        x(random_values(c.rows * (c.in + 3), seed)),
        weights(random_values(c.outs * c.in, seed + 1, 0.5F)),
        bias(random_values(c.outs, seed + 2)),
        stored(1 + 2 * weights.size()) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const bf16 value = to_bf16(weights[i]);
      weights[i] = widen(value);
      std::memcpy(stored.data() + 1 + 2 * i, &value, sizeof value);
    }
    // What lies between the rows must not leak into a result.
    for (std::int64_t r = 0; r < c.rows; ++r) {
      for (std::int64_t k = c.in; k < c.in + 3; ++k)
        x[static_cast<std::size_t>(r * (c.in + 3) + k)] = kNan;
    }
  }
  [[nodiscard]] std::vector<float> product(const TileProducts& tiles) const {
    std::vector<bf16> laid(static_cast<std::size_t>(size.rows * tile_stride(size.in)));
    tiles.lay_rows({x.data(), size.in + 3, size.rows, size.in, laid.data()});
    constexpr float kUntouched = 77;
    const std::int64_t stride = size.outs + 5;
    std::vector<float> y(static_cast<std::size_t>(size.rows * stride), kUntouched), dense;
    tiles.multiply({laid.data(), size.rows, stored.data() + 1, size.in, size.outs, bias.data(),
                    y.data(), stride});
    for (std::int64_t r = 0; r < size.rows; ++r) {
      const float* row = y.data() + r * stride;
      dense.insert(dense.end(), row, row + size.outs);
      for (std::int64_t o = size.outs; o < stride; ++o)
        EXPECT_EQ(row[o], kUntouched) << "written outside of y";
    }
    return dense;
  }
};

/// Most roundings on the way to an element. In tiles: of a tile, 16 fused steps and the sum of both
/// halves; one sum for every tile; the bias.
double roundings_in_tiles(std::int64_t in) {
  return 17 + static_cast<double>((in + kTileDepth - 1) / kTileDepth) + 1;
}
/// In pairs: of a step of 1024 columns, two fused steps for every 32 and four sums of halves; one
/// sum for every step; the bias.
double roundings_in_pairs(std::int64_t in) {
  const std::int64_t steps = (in + 1023) / 1024,
                     lines = (std::min<std::int64_t>(in, 1024) + 31) / 32;
  return static_cast<double>(2 * lines + 4 + steps + 1);
}

/// Every element within what so many roundings can do. Each is at most 2^-24 of a partial sum, and
/// no partial sum is greater than the sum of the magnitudes.
void expect_near_exact(const Operands& o, const std::vector<float>& y, double roundings) {
  const Case& c = o.size;
  const double unit = roundings * 0x1p-24 / (1 - roundings * 0x1p-24);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    for (std::int64_t out = 0; out < c.outs; ++out) {
      const auto bias = static_cast<double>(o.bias[static_cast<std::size_t>(out)]);
      double exact = bias, magnitude = std::abs(bias);
      for (std::int64_t k = 0; k < c.in; ++k) {
        const double part =
            static_cast<double>(widen(to_bf16(o.x[static_cast<std::size_t>(r * (c.in + 3) + k)]))) *
            static_cast<double>(o.weights[static_cast<std::size_t>(out * c.in + k)]);
        exact += part;
        magnitude += std::abs(part);
      }
      ASSERT_LE(
          std::abs(static_cast<double>(y[static_cast<std::size_t>(r * c.outs + out)]) - exact),
          unit * magnitude)
          << c.rows << " rows, " << c.in << " -> " << c.outs << ", row " << r << " output " << out;
    }
  }
}

std::vector<Case> odd_sizes() {
  std::vector<Case> cases;
  for (const std::int64_t in : {1, 2, 31, 32, 33, 63, 64, 65, 127, 200}) {
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 40}) {
      for (const std::int64_t outs : {1, 3, 15, 16, 17, 31, 32, 33, 48, 63, 64})
        cases.push_back({rows, outs, in});
    }
  }
  for (const Case& more : {Case{256, 64, 70}, Case{255, 49, 512}, Case{70, 64, 1100},
                           Case{33, 33, 544}, Case{1, 64, 1553}, Case{20, 50, 1024}})
    cases.push_back(more);
  return cases;
}

TEST(PlainTileProducts, AgreeWithDoublePrecisionAtEverySize) {
  for (const Case& size : odd_sizes()) {
    const Operands operands(size, 5);
    expect_near_exact(operands, operands.product(kPlainTiles), roundings_in_tiles(size.in));
  }
}

TEST(PlainPairProducts, AgreeWithDoublePrecisionAtEverySize) {
  for (const Case& size : odd_sizes()) {
    const Operands operands(size, 5);
    expect_near_exact(operands, operands.product(kPlainPairs), roundings_in_pairs(size.in));
  }
}

/// An element as TileProduct writes it down for vectors, with the C library's fused multiply-add;
/// for values far from denormal numbers.
float sum_of_pairs(const Operands& o, std::int64_t row, std::int64_t out) {
  const std::int64_t in = o.size.in;
  float y = 0;
  for (std::int64_t first = 0; first < in; first += 1024) {
    float sums[16] = {};
    for (std::int64_t k = first; k < std::min(first + 1024, in); k += 32) {
      for (std::int64_t i = 0; i < 32; ++i) {
        const std::int64_t at = k + (i ^ 1);  // the second of a pair before the first
        if (at >= in) continue;
        const float x = o.x[static_cast<std::size_t>(row * (in + 3) + at)];
        sums[i / 2] = std::fma(widen(to_bf16(x)),
                               o.weights[static_cast<std::size_t>(out * in + at)], sums[i / 2]);
      }
    }
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    y = first == 0 ? sums[0] : y + sums[0];
  }
  return y + o.bias[static_cast<std::size_t>(out)];
}

TEST(PlainPairProducts, AreTheDefinition) {
  for (const Case& size : {Case{1, 5, 33}, Case{7, 9, 1024}, Case{5, 4, 1055}, Case{4, 8, 2100},
                           Case{3, 5, 8192 + 1055}}) {
    const Operands operands(size, 7);
    const std::vector<float> found = operands.product(kPlainPairs);
    for (std::int64_t r = 0; r < size.rows; ++r) {
      for (std::int64_t out = 0; out < size.outs; ++out) {
        ASSERT_TRUE(same(found[static_cast<std::size_t>(r * size.outs + out)],
                         sum_of_pairs(operands, r, out)))
            << "row " << r << " output " << out << " of " << size.in << " columns";
      }
    }
  }
}

// Denormal weights and activations count as zero; an infinity shows in its row or output alone.
void expect_corners(const TileProducts& products) {
  Operands operands({3, 4, 40}, 5);
  const std::vector<float> plain = operands.product(products);
  const auto with = [&](std::int64_t output, std::int64_t k, float value) {
    const bf16 stored = to_bf16(value);
    std::memcpy(operands.stored.data() + 1 + 2 * (output * 40 + k), &stored, sizeof stored);
  };
  with(1, 35, 0);
  const auto zero = operands.product(products);
  with(1, 35, 0x1p-130F);
  EXPECT_TRUE(same_bits(operands.product(products), zero));
  EXPECT_FALSE(same_bits(plain, zero));
  with(1, 35, kInfinity);
  const auto infinite = operands.product(products);
  for (std::size_t i = 0; i < infinite.size(); ++i)
    EXPECT_EQ(std::isinf(infinite[i]), i % 4 == 1) << i;
  operands.x[43 + 7] = kNan;
  const auto none = operands.product(products);
  for (std::size_t i = 0; i < none.size(); ++i) EXPECT_EQ(std::isnan(none[i]), i / 4 == 1) << i;
}

TEST(PlainTileProducts, DenormalNumbersAndInfinities) { expect_corners(kPlainTiles); }
TEST(PlainPairProducts, DenormalNumbersAndInfinities) { expect_corners(kPlainPairs); }

#if defined(__x86_64__)
void expect_same_products(const TileProducts& products, const TileProducts& plain) {
  for (const Case& size : odd_sizes()) {
    Operands operands(size, 6);
    // A row whose products leave the normal numbers on both sides.
    for (std::int64_t k = 0; k < size.in; ++k)
      operands.x[static_cast<std::size_t>(k)] *= k % 3 == 0 ? 0x1p-125F : 0x1p120F;
    const auto found = operands.product(products), expected = operands.product(plain);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_TRUE(same(found[i], expected[i])) << size.rows << " " << size.in << " " << size.outs;
  }
}

TEST(AmxTileProducts, HaveTheBitsOfThePlainOnes) {
  if (!cpu_features().amx_bf16) GTEST_SKIP() << "this CPU lacks amx_bf16";
  expect_same_products(kAmxTiles, kPlainTiles);
}

TEST(Avx512PairProducts, HaveTheBitsOfThePlainOnes) {
  if (!cpu_features().avx512_bf16) GTEST_SKIP() << "this CPU lacks avx512_bf16";
  expect_corners(kAvx512Pairs);
  expect_same_products(kAvx512Pairs, kPlainPairs);
}
#endif

}  // namespace
}  // namespace sightline::kernels
