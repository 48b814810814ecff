// Protects the attention of a picture's rows: right against a plain double-precision softmax for
// every head width and number of rows, and bits of a row that depend on the keys alone; in float32
// and with products of bfloat16.
#include "kernels/bidirectional_attention.hpp"

#include <algorithm>

#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

/// q, k and v side by side, as the tower's projection leaves them.
struct Case {
  std::int64_t heads, dim, rows;
  std::vector<float> all = random_values(rows * 3 * heads * dim, 1, 1.5F);

  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(dim)); }
  [[nodiscard]] ConstView part(std::int64_t i) const {
    const std::int64_t width = heads * dim;
    return ConstView(all.data(), rows, 3 * width).slice_cols(i * width, width);
  }
};

std::vector<float> attend(const Kernels& set, int threads, const Case& c, std::int64_t first,
                          std::int64_t rows, Precision precision = Precision::f32) {
  Machine machine(set, threads);
  machine.compute.precision = precision;
  std::vector<float> out(static_cast<std::size_t>(rows * c.heads * c.dim), 55.0F);
  bidirectional_attention(machine.compute, c.heads, c.scale(), c.part(0).slice_rows(first, rows),
                          c.part(1), c.part(2), View(out.data(), rows, c.heads * c.dim));
  return out;
}

std::vector<double> exact(const Case& c) {
  std::vector<double> out(static_cast<std::size_t>(c.rows * c.heads * c.dim));
  for (std::int64_t i = 0; i < c.rows * c.heads; ++i) {
    const std::int64_t head = i % c.heads * c.dim;
    const float* q = c.part(0).row(i / c.heads) + head;
    std::vector<double> p(static_cast<std::size_t>(c.rows));
    for (std::int64_t s = 0; s < c.rows; ++s) {
      const float* k = c.part(1).row(s) + head;
      double dot = 0;
      for (std::int64_t d = 0; d < c.dim; ++d)
        dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
      p[static_cast<std::size_t>(s)] = dot * static_cast<double>(c.scale());
    }
    const double top = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& value : p) sum += value = std::exp(value - top);
    for (std::int64_t s = 0; s < c.rows; ++s) {
      const float* v = c.part(2).row(s) + head;
      for (std::int64_t d = 0; d < c.dim; ++d) {
        out[static_cast<std::size_t>(i * c.dim + d)] +=
            p[static_cast<std::size_t>(s)] / sum * static_cast<double>(v[d]);
      }
    }
  }
  return out;
}

class BidirectionalAttentionTest : public EverySet {};

TEST_P(BidirectionalAttentionTest, AgreesWithDoublePrecision) {
  for (const std::int64_t dim : {16, 24, 64, 72, 80, 20, 7}) {
    for (const std::int64_t rows : {1, 63, 64, 131}) {
      const Case c{3, dim, rows};
      EXPECT_LE(relative_l2(attend(set(), 2, c, 0, rows), exact(c)), 1e-6)
          << "width " << dim << ", rows " << rows;
    }
  }
}

TEST_P(BidirectionalAttentionTest, LargeScoresDoNotOverflow) {
  Case c{2, 32, 70};
  for (float& value : c.all) value *= 30.0F;
  EXPECT_LE(relative_l2(attend(set(), 1, c, 0, 70), exact(c)), 1e-3);
}

void expect_bits_of_the_keys_alone(const Kernels& set, Precision precision) {
  for (const std::int64_t dim : {64, 72}) {
    const Case c{4, dim, 230};
    const std::int64_t cols = c.heads * dim;
    const auto all = attend(set, 1, c, 0, c.rows, precision);
    for (const int threads : {2, 3, 7})
      EXPECT_TRUE(same_bits(all, attend(set, threads, c, 0, c.rows, precision)));
    for (const std::int64_t first : {0, 1, 95, 96, 200}) {
      for (const std::int64_t rows : {1, 2, 5, 30}) {
        const std::vector<float> expected(all.begin() + first * cols,
                                          all.begin() + (first + rows) * cols);
        EXPECT_TRUE(same_bits(attend(set, 2, c, first, rows, precision), expected))
            << first << "+" << rows;
      }
    }
  }
}

TEST_P(BidirectionalAttentionTest, BitsOfARowDependOnTheKeysAlone) {
  expect_bits_of_the_keys_alone(set(), Precision::f32);
}

TEST_P(BidirectionalAttentionTest, StopsWhenCancelled) {
  const Case c{2, 16, 10};
  Machine machine(set(), 2);
  const std::atomic<bool> cancel{true};
  machine.compute.cancel = &cancel;
  std::vector<float> out(10 * 32, 55.0F);
  bidirectional_attention(machine.compute, 2, 1.0F, c.part(0), c.part(1), c.part(2),
                          View(out.data(), 10, 32));
  EXPECT_EQ(out[0], 55.0F);
}

SIGHTLINE_EVERY_SET(BidirectionalAttentionTest);

/// The sets that multiply pairs of bfloat16.
class RoundedAttention : public EverySet {};

// A query, key, value or weight is rounded by at most 2^-9 of itself; scores of these rows are
// sums of `dim` such products, so that weights move by a few times that.
TEST_P(RoundedAttention, IsNearDoublePrecision) {
  for (const std::int64_t dim : {16, 24, 64, 72, 80, 20, 7}) {
    for (const std::int64_t rows : {1, 63, 64, 131}) {
      const Case c{3, dim, rows};
      const double off = relative_l2(attend(set(), 2, c, 0, rows, Precision::bf16), exact(c));
      EXPECT_LE(off, 1.2e-2) << "width " << dim << ", rows " << rows;
      EXPECT_GE(off, 5e-4) << "was anything rounded?";
    }
  }
}

TEST_P(RoundedAttention, BitsOfARowDependOnTheKeysAlone) {
  expect_bits_of_the_keys_alone(set(), Precision::bf16);
}

TEST_P(RoundedAttention, Float32RoundsNothing) {
  const Case c{3, 72, 131};
  EXPECT_LE(relative_l2(attend(set(), 2, c, 0, 131), exact(c)), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(, RoundedAttention,
                         testing::Values("amx-twin", "amx", "avx512-bf16-twin", "avx512-bf16"),
                         [](const auto& info) { return test_name(info.param); });

TEST(AttentionInPairs, EverySetThatMultipliesThemHasTheSameBits) {
  const Case c{3, 72, 131};
  const auto expected = attend(select("avx512-bf16-twin"), 1, c, 0, 131, Precision::bf16);
  // The rest of the twin is the best other set of this machine, whose softmax the set shares.
  for (const SetInfo& info : list_sets()) {
    if (!info.available || (info.name != "avx512-bf16" && info.name != "amx-twin")) continue;
    EXPECT_TRUE(same_bits(attend(select(info.name), 2, c, 0, 131, Precision::bf16), expected))
        << info.name;
  }
}

}  // namespace
}  // namespace sightline::kernels
