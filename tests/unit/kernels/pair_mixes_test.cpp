// Protects attention's products of pairs of bfloat16: the plain ones against their definition at
// every odd size, what they do to zeros, infinities and denormal numbers, and, where the machine
// has the instructions, that those compute the same bits.
#include "kernels/pair_mixes.hpp"

#include <limits>

#include "base/cpu.hpp"
#include "kernels/tiles.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Size {
  std::int64_t rows, cols, depth;
};

std::vector<bf16> rounded(const std::vector<float>& values) {
  std::vector<bf16> out;
  for (const float value : values) out.push_back(to_bf16(value));
  return out;
}

struct Operands {
  Size size;
  std::vector<bf16> a, b;
  std::vector<float> c, keep;

  Operands(const Size& s, unsigned seed)
      : size(s),
        a(rounded(random_values(s.rows * (s.depth + 2), seed))),
        b(rounded(random_values(s.depth * s.cols, seed + 1))),
        c(random_values(s.rows * (s.cols + 3), seed + 2)),
        keep(random_values(s.rows, seed + 3)) {
    if (s.rows > 1) keep[1] = 0;
  }
  [[nodiscard]] std::vector<float> mixed(const PairMixes& mixes, bool with_keep = true) const {
    std::vector<float> out = c;
    mixes.mix({a.data(), size.depth + 2, size.rows, b.data(), size.cols, out.data(), size.cols + 3,
               size.depth, with_keep ? keep.data() : nullptr});
    return out;
  }
  [[nodiscard]] float left(std::int64_t r, std::int64_t p) const {
    return widen(a[static_cast<std::size_t>(r * (size.depth + 2) + p)]);
  }
  [[nodiscard]] float right(std::int64_t p, std::int64_t d) const {
    return widen(b[static_cast<std::size_t>((p / 2 * size.cols + d) * 2 + p % 2)]);
  }
  /// As PairMix writes it down, with the C library's fused multiply-add.
  [[nodiscard]] std::vector<float> defined(bool with_keep = true) const {
    std::vector<float> out = c;
    for (std::int64_t r = 0; r < size.rows; ++r) {
      const float factor = with_keep ? keep[static_cast<std::size_t>(r)] : 0;
      for (std::int64_t d = 0; d < size.cols; ++d) {
        float& sum = out[static_cast<std::size_t>(r * (size.cols + 3) + d)];
        sum = factor != 0 ? sum * factor : 0;
        for (std::int64_t p = 0; p < size.depth; ++p)
          sum = std::fma(left(r, p ^ 1), right(p ^ 1, d), sum);
      }
    }
    return out;
  }
};

std::vector<Size> sizes() {
  std::vector<Size> all;
  for (const std::int64_t rows : {1, 5, 6, 7, 13}) {
    for (const std::int64_t cols : {16, 32, 48, 64, 80, 144}) {
      for (const std::int64_t depth : {2, 8, 64}) all.push_back({rows, cols, depth});
    }
  }
  return all;
}

TEST(PlainPairMixes, AreTheDefinition) {
  for (const Size& size : sizes()) {
    const Operands operands(size, 3);
    for (const bool keep : {true, false}) {
      EXPECT_TRUE(same_bits(operands.mixed(kPlainPairMixes, keep), operands.defined(keep)))
          << size.rows << " rows, " << size.cols << " columns, depth " << size.depth;
    }
  }
}

void expect_corners(const PairMixes& mixes) {
  Operands o({3, 16, 4}, 5);
  // What is not kept is not read, whatever it is.
  o.c[19] = kNan;
  EXPECT_TRUE(same_bits(o.mixed(mixes), o.defined()));
  // Denormal operands count as zero.
  const std::vector<float> plain = o.mixed(mixes);
  o.a[1] = {};
  const auto without = o.mixed(mixes);
  o.a[1] = to_bf16(0x1p-130F);
  EXPECT_TRUE(same_bits(without, o.mixed(mixes)));
  EXPECT_FALSE(same_bits(without, plain));
  // An infinity stays in its row.
  o.a[1] = to_bf16(kInfinity);
  const auto infinite = o.mixed(mixes);
  for (std::size_t i = 0; i < infinite.size(); ++i) EXPECT_EQ(std::isinf(infinite[i]), i < 16) << i;
}

TEST(PlainPairMixes, ZerosInfinitiesAndDenormalNumbers) { expect_corners(kPlainPairMixes); }

TEST(PlainPairMixes, RoundToNearestEvenAndPad) {
  for (const std::int64_t n : {1, 31, 32, 33, 72}) {
    const auto x = random_values(n, 9);
    std::vector<bf16> out(static_cast<std::size_t>(tile_stride(n)), bf16{7});
    kPlainPairMixes.round(x.data(), n, out.data());
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i].bits, i < x.size() ? to_bf16(x[i]).bits : 0) << i << " of " << n;
  }
}

void expect_paired(const PairMixes& mixes) {
  for (const std::int64_t n : {1, 15, 16, 17, 31, 32, 33, 72, 256}) {
    const auto x = rounded(random_values(2 * n + 1, 9));
    for (const bool both : {true, false}) {
      const std::int64_t cols = (n + kPairColumns - 1) / kPairColumns * kPairColumns;
      std::vector<bf16> out(static_cast<std::size_t>(2 * cols + 1), bf16{7});
      const auto* first = reinterpret_cast<const std::byte*>(x.data() + 1);
      mixes.pair(first, both ? first + n * 2 : nullptr, n, out.data());
      for (std::int64_t i = 0; i < 2 * cols; ++i) {
        const bool there = i / 2 < n && (both || i % 2 == 0);
        const auto at = static_cast<std::size_t>(1 + i % 2 * n + i / 2);
        ASSERT_EQ(out[static_cast<std::size_t>(i)].bits, there ? x[at].bits : 0)
            << i << " of " << n;
      }
      EXPECT_EQ(out.back().bits, 7) << "behind the end of " << n;
    }
  }
}

TEST(PlainPairMixes, PairRowsAndPad) { expect_paired(kPlainPairMixes); }

#if defined(__x86_64__)
TEST(Avx512PairMixes, HaveTheBitsOfThePlainOnes) {
  if (!cpu_features().avx512_bf16) GTEST_SKIP() << "this CPU lacks avx512_bf16";
  expect_corners(kAvx512PairMixes);
  expect_paired(kAvx512PairMixes);
  for (const Size& size : sizes()) {
    Operands o(size, 6);
    // Products that leave the normal numbers on both sides.
    for (std::int64_t p = 0; p < size.depth; ++p) {
      bf16& value = o.a[static_cast<std::size_t>(p)];
      value = to_bf16(widen(value) * (p % 3 == 0 ? 0x1p-125F : 0x1p120F));
    }
    EXPECT_TRUE(same_bits(o.mixed(kAvx512PairMixes), o.mixed(kPlainPairMixes)))
        << size.rows << " rows, " << size.cols << " columns, depth " << size.depth;
    const auto x = random_values(size.cols + 5, 9);
    std::vector<bf16> found(static_cast<std::size_t>(tile_stride(size.cols + 5))), plain = found;
    kAvx512PairMixes.round(x.data(), size.cols + 5, found.data());
    kPlainPairMixes.round(x.data(), size.cols + 5, plain.data());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].bits, plain[i].bits) << i;
  }
}
#endif

}  // namespace
}  // namespace sightline::kernels
