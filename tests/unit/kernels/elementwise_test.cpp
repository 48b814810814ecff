// Protects the row-wise operations: accuracy against double precision, strides, in-place use, and
// that a value's bits do not depend on where in a row, at which alignment or by how many threads it
// is computed.
#include "kernels/elementwise.hpp"

#include <functional>

#include "kernels/table.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

class ElementwiseTest : public EverySet {};

double silu(double x) { return x / (1.0 + std::exp(-x)); }
double gelu_tanh_exact(double x) {
  // 0.5 (1 + tanh u) is 1 / (1 + exp(-2 u)), without the cancellation.
  const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return x / (1.0 + std::exp(-2.0 * u));
}
double gelu_erf_exact(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

/// Values from all magnitudes that activations reach, both signs, and the ends.
std::vector<float> sweep() {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.0101F);
  for (float m = 1e-30F; m < 1e4F; m *= 1.7F) {
    x.push_back(m);
    x.push_back(-m);
  }
  for (const float special : {0.0F, -0.0F, 1e20F, -1e20F}) x.push_back(special);
  return x;
}

/// |a − b| as a share of |b|, or of a floor below which only the absolute error counts.
void expect_close(const std::vector<float>& x, const std::vector<float>& y,
                  const std::function<double(double)>& exact, double relative, double floor) {
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(static_cast<double>(x[i]));
    const double error =
        std::abs(static_cast<double>(y[i]) - expected) / std::max(std::abs(expected), floor);
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
  }
  EXPECT_LE(worst, relative) << "at x = " << at;
}

TEST_P(ElementwiseTest, ActivationsAreAccurateOverTheWholeRange) {
  const std::vector<float> x = sweep();
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<float> ones(x.size(), 1.0F);
  std::vector<float> y(x.size());
  set().silu_mul(x.data(), ones.data(), n, y.data());
  expect_close(x, y, silu, 4e-7, 1e-30);
  set().sigmoid_mul(x.data(), ones.data(), n, y.data());
  expect_close(x, y, [](double v) { return 1.0 / (1.0 + std::exp(-v)); }, 4e-7, 1e-30);
  // The argument of the exponential function is rounded, so far in the tail the share grows with
  // it.
  set().gelu_tanh(x.data(), n, y.data());
  expect_close(x, y, gelu_tanh_exact, 1e-6, 1e-3);
  expect_close(x, y, gelu_tanh_exact, 1e-5, 1e-30);
  set().gelu_erf(x.data(), n, y.data());
  expect_close(x, y, gelu_erf_exact, 1e-6, 1e-30);
}

TEST_P(ElementwiseTest, NonFiniteValuesShow) {
  const std::vector<float> x = {NAN, INFINITY, 1.0F};
  std::vector<float> y(3);
  const std::vector<float> ones(3, 1.0F);
  set().silu_mul(x.data(), ones.data(), 3, y.data());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
  set().sigmoid_mul(x.data(), ones.data(), 3, y.data());
  EXPECT_TRUE(std::isnan(y[0]));
  set().gelu_tanh(x.data(), 3, y.data());
  EXPECT_TRUE(std::isnan(y[0]));
  set().gelu_erf(x.data(), 3, y.data());
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST_P(ElementwiseTest, BitsDoNotDependOnPosition) {
  const std::vector<float> x = sweep();
  const auto n = static_cast<std::int64_t>(x.size());
  using Row = void (*)(const float*, std::int64_t, float*);
  for (const Row row : {set().gelu_tanh, set().gelu_erf}) {
    std::vector<float> all(x.size());
    row(x.data(), n, all.data());
    std::vector<float> parts(x.size());
    for (std::int64_t first = 0, count = 1; first < n; first += count, count = count % 23 + 1) {
      row(x.data() + first, std::min(count, n - first), parts.data() + first);
    }
    EXPECT_TRUE(same_bits(all, parts));
  }
  const std::vector<float> ones(x.size(), 1.0F);
  using Pair = void (*)(const float*, const float*, std::int64_t, float*);
  for (const Pair pair : {set().silu_mul, set().sigmoid_mul, set().add}) {
    std::vector<float> all(x.size());
    pair(x.data(), ones.data(), n, all.data());
    std::vector<float> parts(x.size());
    for (std::int64_t first = 0; first < n; first += 3) {
      pair(x.data() + first, ones.data() + first, std::min<std::int64_t>(3, n - first),
           parts.data() + first);
    }
    EXPECT_TRUE(same_bits(all, parts));
  }
}

struct Rows {
  std::int64_t rows, cols, stride;
  std::vector<float> values;
  ConstView view() const { return {values.data(), rows, cols, stride}; }
};

Rows make_rows(std::int64_t rows, std::int64_t cols, unsigned seed) {
  Rows r{rows, cols, cols + 3, random_values(rows * (cols + 3), seed)};
  return r;
}

std::vector<double> each(const Rows& x,
                         const std::function<double(std::int64_t, std::int64_t)>& fn) {
  std::vector<double> y;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < x.cols; ++c) y.push_back(fn(r, c));
  }
  return y;
}

double at(const Rows& x, std::int64_t r, std::int64_t c) {
  return static_cast<double>(x.view().row(r)[c]);
}

TEST_P(ElementwiseTest, NormsAgreeWithDoublePrecision) {
  for (const std::int64_t cols : {1, 7, 16, 72, 128, 1030, 5120}) {
    const Rows x = make_rows(40, cols, 1);
    const auto weight = random_values(cols, 2);
    const auto bias = random_values(cols, 3);
    std::vector<float> y(static_cast<std::size_t>(x.rows * cols));
    Machine machine(set(), 3);
    const View out(y.data(), x.rows, cols);
    const auto w = [&](std::int64_t c) {
      return static_cast<double>(weight[static_cast<std::size_t>(c)]);
    };
    std::vector<double> mean(40, 0), square(40, 0), variance(40, 0);
    each(x, [&](std::int64_t r, std::int64_t c) {
      mean[static_cast<std::size_t>(r)] += at(x, r, c) / static_cast<double>(cols);
      return square[static_cast<std::size_t>(r)] +=
             at(x, r, c) * at(x, r, c) / static_cast<double>(cols);
    });
    each(x, [&](std::int64_t r, std::int64_t c) {
      const double d = at(x, r, c) - mean[static_cast<std::size_t>(r)];
      return variance[static_cast<std::size_t>(r)] += d * d / static_cast<double>(cols);
    });
    const double eps = static_cast<double>(1e-6F);
    rms_norm(machine.compute, x.view(), weight.data(), 1, 1e-6F, out);
    EXPECT_LE(relative_l2(y, each(x,
                                  [&](std::int64_t r, std::int64_t c) {
                                    return at(x, r, c) /
                                           std::sqrt(square[static_cast<std::size_t>(r)] + eps) *
                                           (1 + w(c));
                                  })),
              2e-7);
    layer_norm(machine.compute, x.view(), weight.data(), bias.data(), 1e-6F, out);
    EXPECT_LE(relative_l2(y, each(x,
                                  [&](std::int64_t r, std::int64_t c) {
                                    const double n =
                                        (at(x, r, c) - mean[static_cast<std::size_t>(r)]) /
                                        std::sqrt(variance[static_cast<std::size_t>(r)] + eps);
                                    return n * w(c) +
                                           static_cast<double>(bias[static_cast<std::size_t>(c)]);
                                  })),
              2e-7);
  }
}

TEST_P(ElementwiseTest, LayerNormKeepsItsAccuracyFarFromZero) {
  // A large common offset is where a one-pass variance loses everything.
  std::vector<float> x = random_values(1152, 5);
  for (float& v : x) v += 300.0F;
  std::vector<float> y(x.size()), ones(x.size(), 1.0F), zeros(x.size(), 0.0F);
  set().layer_norm(x.data(), ones.data(), zeros.data(), 1e-6F, 1152, y.data());
  double mean = 0, variance = 0;
  for (const float v : x) mean += static_cast<double>(v) / 1152;
  for (const float v : x)
    variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / 1152;
  std::vector<double> expected;
  for (const float v : x)
    expected.push_back((static_cast<double>(v) - mean) / std::sqrt(variance + 1e-6));
  EXPECT_LE(relative_l2(y, expected), 3e-7);
}

// Layers behind a norm may magnify what it rounds: every value is the float nearest to the formula.
TEST_P(ElementwiseTest, NormsRoundOnce) {
  constexpr std::int64_t kWidth = 203;
  const auto x = random_values(kWidth, 11), weight = random_values(kWidth, 12);
  std::vector<float> rms(kWidth), l2(kWidth);
  set().rms_norm(x.data(), weight.data(), 1, 1e-6F, kWidth, rms.data());
  set().l2_norm(x.data(), kWidth, 0.25F, l2.data());
  double square = 0;
  for (const float v : x) square += static_cast<double>(v) * static_cast<double>(v);
  const double by_mean = 1 / std::sqrt(square / kWidth + static_cast<double>(1e-6F));
  const double by_sum = 0.25 / std::sqrt(square + 1e-6);
  const auto expect_nearest = [](float found, double exact) {
    constexpr double kHalf = 0.5 + 1e-6;  // of a unit in the last place; sums differ in their order
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    EXPECT_LE(std::abs(static_cast<double>(found) - exact), kHalf * unit) << exact;
  };
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto v = static_cast<double>(x[k]);
    expect_nearest(rms[k], v * by_mean * (1 + static_cast<double>(weight[k])));
    expect_nearest(l2[k], v * by_sum);
  }
}

TEST_P(ElementwiseTest, GatedNormWorksOnGroups) {
  constexpr std::int64_t kWidth = 24;
  const Rows x = make_rows(9, 5 * kWidth, 4);
  const Rows gate = make_rows(9, 5 * kWidth, 5);
  const auto weight = random_values(kWidth, 6);
  std::vector<float> y(static_cast<std::size_t>(x.rows * x.cols));
  Machine machine(set(), 2);
  rms_norm_gated(machine.compute, x.view(), gate.view(), weight.data(), kWidth, 1e-6F,
                 View(y.data(), x.rows, x.cols));
  EXPECT_LE(relative_l2(y, each(x,
                                [&](std::int64_t r, std::int64_t c) {
                                  double square = 0;
                                  const std::int64_t first = c / kWidth * kWidth;
                                  for (std::int64_t k = 0; k < kWidth; ++k)
                                    square += at(x, r, first + k) * at(x, r, first + k) / kWidth;
                                  return at(x, r, c) / std::sqrt(square + 1e-6) *
                                         static_cast<double>(
                                             weight[static_cast<std::size_t>(c % kWidth)]) *
                                         silu(at(gate, r, c));
                                })),
            3e-7);
}

TEST_P(ElementwiseTest, RowsAreIndependentOfThreadsAndInPlaceWorks) {
  const Rows x = make_rows(300, 257, 7);
  const Rows g = make_rows(300, 257, 8);
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 7}) {
    Machine machine(set(), threads);
    std::vector<float> y = x.values;
    const View view(y.data(), x.rows, x.cols, x.stride);
    add(machine.compute, view, g.view(), view);
    silu_mul(machine.compute, g.view(), view, view);
    sigmoid_mul(machine.compute, g.view(), view, view);
    gelu_tanh(machine.compute, view, view);
    gelu_erf(machine.compute, view, view);
    rms_norm(machine.compute, view, g.values.data(), 0, 1e-6F, view);
    if (threads == 1) first = y;
    EXPECT_TRUE(same_bits(first, y)) << threads << " threads";
    EXPECT_EQ(y[257], x.values[257]) << "written between the rows";
  }
}

TEST_P(ElementwiseTest, RopeRotatesPairsOfTheFirstDimensions) {
  constexpr std::int64_t kHalf = 9, kDim = 40, kHeads = 3, kRows = 4;
  const Rows x = make_rows(kRows, kHeads * kDim, 9);
  const Rows angles = make_rows(kRows, kHalf, 10);
  std::vector<float> cos(angles.values.size()), sin(angles.values.size());
  for (std::size_t i = 0; i < cos.size(); ++i) {
    cos[i] = std::cos(angles.values[i]);
    sin[i] = std::sin(angles.values[i]);
  }
  std::vector<float> y = x.values;
  Machine machine(set(), 2);
  rope(machine.compute, View(y.data(), kRows, x.cols, x.stride), kDim,
       ConstView(cos.data(), kRows, kHalf, angles.stride),
       ConstView(sin.data(), kRows, kHalf, angles.stride));
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const std::int64_t d = c % kDim;
      const std::int64_t k = d % kHalf;
      const double co = static_cast<double>(cos[static_cast<std::size_t>(r * angles.stride + k)]);
      const double si = static_cast<double>(sin[static_cast<std::size_t>(r * angles.stride + k)]);
      double expected = at(x, r, c);
      if (d < kHalf) expected = at(x, r, c) * co - at(x, r, c + kHalf) * si;
      if (d >= kHalf && d < 2 * kHalf) expected = at(x, r, c) * co + at(x, r, c - kHalf) * si;
      EXPECT_NEAR(y[static_cast<std::size_t>(r * x.stride + c)], expected, 1e-6);
    }
  }
}

SIGHTLINE_EVERY_SET(ElementwiseTest);

}  // namespace
}  // namespace sightline::kernels
