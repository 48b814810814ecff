// Protects the gated delta rule: both forms against the recurrence in double precision, their
// promises about bits, the convolution before it and its gates.
#include "kernels/delta_rule.hpp"

#include <algorithm>

#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

struct Inputs {
  DeltaShape shape;
  std::int64_t rows;
  std::vector<float> q, k, v, beta, decay, state;

  DeltaOperands operands(std::int64_t first, std::int64_t count) const {
    const std::int64_t keys = shape.key_heads * shape.key_dim;
    const std::int64_t values = shape.value_heads * shape.value_dim;
    return {ConstView(q.data() + first * keys, count, keys),
            ConstView(k.data() + first * keys, count, keys),
            ConstView(v.data() + first * values, count, values),
            ConstView(beta.data() + first * shape.value_heads, count, shape.value_heads),
            ConstView(decay.data() + first * shape.value_heads, count, shape.value_heads)};
  }
};

Inputs make_inputs(const DeltaShape& shape, std::int64_t rows, float decay_scale) {
  Inputs in{shape, rows, {}, {}, {}, {}, {}, {}};
  in.q = random_values(rows * shape.key_heads * shape.key_dim, 1);
  in.k = random_values(rows * shape.key_heads * shape.key_dim, 2);
  in.v = random_values(rows * shape.value_heads * shape.value_dim, 3);
  in.beta = random_values(rows * shape.value_heads, 4);
  for (float& b : in.beta) b = 1.0F / (1.0F + std::exp(-b));
  in.decay = random_values(rows * shape.value_heads, 5);
  for (float& g : in.decay) g = -decay_scale * g * g;
  in.state = random_values(shape.value_heads * shape.key_dim * shape.value_dim, 6, 0.3F);
  return in;
}

struct Result {
  std::vector<float> out, state;
};

/// The recurrence as the specification writes it, in double precision.
void exact(const Inputs& in, std::vector<double>& out, std::vector<double>& state) {
  const auto& s = in.shape;
  state.assign(in.state.begin(), in.state.end());
  out.assign(static_cast<std::size_t>(in.rows * s.value_heads * s.value_dim), 0.0);
  for (std::int64_t t = 0; t < in.rows; ++t) {
    for (std::int64_t h = 0; h < s.value_heads; ++h) {
      const std::int64_t key = (t * s.key_heads + h / (s.value_heads / s.key_heads)) * s.key_dim;
      const float* q = in.q.data() + key;
      const float* k = in.k.data() + key;
      double nq = 1e-6, nk = 1e-6;
      for (std::int64_t i = 0; i < s.key_dim; ++i) {
        nq += static_cast<double>(q[i]) * static_cast<double>(q[i]);
        nk += static_cast<double>(k[i]) * static_cast<double>(k[i]);
      }
      nq = std::sqrt(nq) * std::sqrt(static_cast<double>(s.key_dim));
      nk = std::sqrt(nk);
      const auto gate = static_cast<std::size_t>(t * s.value_heads + h);
      const double decay = std::exp(static_cast<double>(in.decay[gate]));
      for (std::int64_t c = 0; c < s.value_dim; ++c) {
        double* column = state.data() + h * s.key_dim * s.value_dim + c;
        double seen = 0;
        for (std::int64_t i = 0; i < s.key_dim; ++i) {
          column[i * s.value_dim] *= decay;
          seen += column[i * s.value_dim] * static_cast<double>(k[i]) / nk;
        }
        const auto index = static_cast<std::size_t>((t * s.value_heads + h) * s.value_dim + c);
        const double d =
            static_cast<double>(in.beta[gate]) * (static_cast<double>(in.v[index]) - seen);
        for (std::int64_t i = 0; i < s.key_dim; ++i) {
          column[i * s.value_dim] += static_cast<double>(k[i]) / nk * d;
          out[index] += column[i * s.value_dim] * static_cast<double>(q[i]) / nq;
        }
      }
    }
  }
}

/// Runs rows in pieces of the given lengths.
Result run(const Kernels& set, int threads, const Inputs& in, bool chunked,
           const std::vector<std::int64_t>& pieces) {
  Machine machine(set, threads);
  const std::int64_t cols = in.shape.value_heads * in.shape.value_dim;
  Result result{std::vector<float>(static_cast<std::size_t>(in.rows * cols)), in.state};
  std::int64_t first = 0;
  for (const std::int64_t count : pieces) {
    const View out(result.out.data() + first * cols, count, cols);
    if (chunked) {
      delta_rule_chunked(machine.compute, in.shape, in.operands(first, count), first,
                         result.state.data(), out);
    } else {
      delta_rule_recurrent(machine.compute, in.shape, in.operands(first, count),
                           result.state.data(), true, out);
    }
    first += count;
  }
  EXPECT_EQ(first, in.rows);
  return result;
}

const DeltaShape kShapes[] = {{1, 1, 16, 16}, {2, 4, 32, 24}, {2, 6, 128, 128}, {1, 3, 20, 40}};

class DeltaRuleTest : public EverySet {};

TEST_P(DeltaRuleTest, BothFormsAgreeWithDoublePrecision) {
  for (const DeltaShape& shape : kShapes) {
    for (const float decay : {0.02F, 1.0F, 40.0F}) {
      const Inputs in = make_inputs(shape, 150, decay);
      std::vector<double> out, state;
      exact(in, out, state);
      const Result recurrent = run(set(), 2, in, false, {150});
      EXPECT_LE(relative_l2(recurrent.out, out), 3e-6) << "decay " << decay;
      EXPECT_LE(relative_l2(recurrent.state, state), 3e-6) << "decay " << decay;
      const Result chunked = run(set(), 2, in, true, {150});
      EXPECT_LE(relative_l2(chunked.out, out), 5e-6) << "decay " << decay;
      EXPECT_LE(relative_l2(chunked.state, state), 5e-6) << "decay " << decay;
    }
  }
}

TEST_P(DeltaRuleTest, CutsAtMultiplesOfTheChunkChangeNoBit) {
  const Inputs in = make_inputs(kShapes[2], 64 * 3 + 9, 0.1F);
  const Result whole = run(set(), 1, in, true, {201});
  for (const int threads : {2, 3, 7}) {
    const Result again = run(set(), threads, in, true, {201});
    EXPECT_TRUE(same_bits(whole.out, again.out) && same_bits(whole.state, again.state));
  }
  for (const std::vector<std::int64_t>& pieces :
       {std::vector<std::int64_t>{64, 137}, {128, 73}, {64, 64, 64, 9}}) {
    const Result cut = run(set(), 2, in, true, pieces);
    EXPECT_TRUE(same_bits(whole.out, cut.out) && same_bits(whole.state, cut.state));
  }
}

TEST_P(DeltaRuleTest, OtherCutsStayClose) {
  const Inputs in = make_inputs(kShapes[1], 150, 0.1F);
  const Result whole = run(set(), 1, in, true, {150});
  const Result cut = run(set(), 1, in, true, {7, 50, 20, 73});
  EXPECT_LE(relative_l2(cut.out, whole.out), 1e-5);
  EXPECT_LE(relative_l2(cut.state, whole.state), 1e-5);
}

TEST_P(DeltaRuleTest, StepsTogetherAreStepsApartAndCanLeaveTheStateAlone) {
  for (const DeltaShape& shape : kShapes) {
    const Inputs in = make_inputs(shape, 6, 0.1F);
    const Result apart = run(set(), 1, in, false, {1, 1, 1, 1, 1, 1});
    for (const int threads : {1, 2, 7}) {
      const Result together = run(set(), threads, in, false, {6});
      EXPECT_TRUE(same_bits(apart.out, together.out) && same_bits(apart.state, together.state));
    }
    Machine machine(set(), 2);
    std::vector<float> state = in.state;
    std::vector<float> out(apart.out.size());
    delta_rule_recurrent(machine.compute, shape, in.operands(0, 6), state.data(), false,
                         View(out.data(), 6, shape.value_heads * shape.value_dim));
    EXPECT_TRUE(same_bits(out, apart.out));
    EXPECT_TRUE(same_bits(state, in.state));
  }
}

TEST_P(DeltaRuleTest, NoDecayAndFullForgettingStayFinite) {
  Inputs in = make_inputs(kShapes[1], 130, 0.0F);
  in.decay[40] = -1e30F;
  in.decay[200] = -200.0F;
  std::vector<double> out, state;
  exact(in, out, state);
  EXPECT_LE(relative_l2(run(set(), 1, in, true, {130}).out, out), 1e-5);
  EXPECT_LE(relative_l2(run(set(), 1, in, false, {130}).out, out), 1e-5);
}

class ConvolutionTest : public EverySet {};

TEST_P(ConvolutionTest, AgreesWithDoublePrecisionAndKeepsItsState) {
  for (const std::int64_t width : {4, 2, 1}) {
    constexpr std::int64_t kRows = 21, kCols = 523;
    const auto u = random_values((kRows + width - 1) * kCols, 1);  // the state's rows first
    const auto weight = random_values(kCols * width, 2);
    const auto at = [&](std::int64_t r, std::int64_t c) {
      return static_cast<double>(u[static_cast<std::size_t>(r * kCols + c)]);
    };
    std::vector<double> expected;
    for (std::int64_t t = 0; t < kRows; ++t) {
      for (std::int64_t c = 0; c < kCols; ++c) {
        double sum = 0;
        for (std::int64_t j = 0; j < width; ++j) {
          sum +=
              static_cast<double>(weight[static_cast<std::size_t>(c * width + j)]) * at(t + j, c);
        }
        expected.push_back(sum / (1.0 + std::exp(-sum)));
      }
    }
    Machine machine(set(), 3);
    const auto convolve = [&](std::vector<float>& state, std::int64_t first, std::int64_t count,
                              bool write, float* y) {
      causal_conv_silu(
          machine.compute, ConstView(u.data() + (width - 1 + first) * kCols, count, kCols),
          weight.data(), width, View(state.data(), width - 1, kCols), write, View(y, count, kCols));
    };
    std::vector<float> initial(u.begin(), u.begin() + (width - 1) * kCols);
    std::vector<float> together(kRows * kCols), apart(kRows * kCols);
    std::vector<float> state = initial;
    convolve(state, 0, kRows, false, together.data());
    EXPECT_TRUE(same_bits(state, initial));
    EXPECT_LE(relative_l2(together, expected), 3e-7);
    for (std::int64_t t = 0; t < kRows; ++t) convolve(state, t, 1, true, apart.data() + t * kCols);
    EXPECT_TRUE(same_bits(together, apart));
    EXPECT_TRUE(same_bits(state, std::vector<float>(u.end() - (width - 1) * kCols, u.end())));
    std::vector<float> again = initial;
    convolve(again, 0, 2, true, apart.data());
    convolve(again, 2, kRows - 2, true, apart.data() + 2 * kCols);
    EXPECT_TRUE(same_bits(again, state));
  }
}

TEST_P(ConvolutionTest, GatesAreAccurate) {
  const auto a = random_values(50 * 6, 1, 15.0F);
  const auto b = random_values(50 * 6, 2, 5.0F);
  const auto a_log = random_values(6, 3);
  const auto bias = random_values(6, 4);
  std::vector<float> decay(a.size()), beta(a.size());
  Machine machine(set(), 2);
  delta_gates(machine.compute, ConstView(a.data(), 50, 6), ConstView(b.data(), 50, 6), a_log.data(),
              bias.data(), View(decay.data(), 50, 6), View(beta.data(), 50, 6));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double g = -std::exp(static_cast<double>(a_log[i % 6])) *
                     std::log1p(std::exp(static_cast<double>(a[i] + bias[i % 6])));
    EXPECT_NEAR(decay[i], g, 1e-6 * std::abs(g));
    EXPECT_NEAR(beta[i], 1.0 / (1.0 + std::exp(-static_cast<double>(b[i]))), 3e-7);
    EXPECT_LE(decay[i], 0.0F);
  }
}

SIGHTLINE_EVERY_SET(DeltaRuleTest);
SIGHTLINE_EVERY_SET(ConvolutionTest);

}  // namespace
}  // namespace sightline::kernels
