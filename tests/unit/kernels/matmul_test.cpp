// Protects the one product with weights: right to float32 accuracy for every storage type, size and
// alignment, and the promise that a row's bits depend on that row alone.
#include "kernels/matmul.hpp"

#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

struct StoredWeight {
  std::vector<std::byte> bytes;  ///< one byte before the data, so that nothing is aligned
  std::vector<float> values;     ///< what the stored bits mean
  Weight weight;
};

std::uint16_t f16_bits(float x) {  // values of the test are small and normal; rounds towards zero
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<int>((bits >> 23) & 0xffU) - 112;
  if (exponent <= 0) return static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  return static_cast<std::uint16_t>(
      ((bits >> 16) & 0x8000U) | static_cast<unsigned>(exponent << 10) | ((bits >> 13) & 0x3ffU));
}

StoredWeight store(std::int64_t out, std::int64_t in, DType dtype, unsigned seed) {
  StoredWeight stored;
  stored.values = random_values(out * in, seed, 0.5F);
  const auto size = static_cast<std::size_t>(dtype_size(dtype));
  stored.bytes.resize(1 + stored.values.size() * size);
  for (std::size_t i = 0; i < stored.values.size(); ++i) {
    std::byte* target = stored.bytes.data() + 1 + i * size;
    float& value = stored.values[i];
    if (dtype == DType::f32) {
      std::memcpy(target, &value, size);
    } else {
      const std::uint16_t bits = dtype == DType::bf16 ? to_bf16(value).bits : f16_bits(value);
      std::memcpy(target, &bits, size);
      value = dtype == DType::bf16 ? widen(bf16{bits}) : widen(f16{bits});
    }
  }
  stored.weight = {dtype, out, in, stored.bytes.data() + 1};
  return stored;
}

struct Problem {
  std::int64_t rows, in, out;
  std::int64_t x_stride, y_stride;
  std::vector<float> x, bias, y;
};

Problem make_problem(std::int64_t rows, std::int64_t in, std::int64_t out) {
  Problem p{rows, in, out, in + 3, out + 5, {}, {}, {}};
  p.x = random_values(rows * p.x_stride, 7);
  // What lies between the rows must not leak into a result.
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = in; k < p.x_stride; ++k)
      p.x[static_cast<std::size_t>(r * p.x_stride + k)] = NAN;
  }
  p.bias = random_values(out, 8);
  return p;
}

/// Dense y of rows [first, first + count) of the problem.
std::vector<float> multiply(const Kernels& set, int threads, const Problem& p, const Weight& w,
                            std::int64_t first, std::int64_t count) {
  Machine machine(set, threads);
  std::vector<float> y(static_cast<std::size_t>(count * p.y_stride), 77.0F);
  const ConstView x(p.x.data() + first * p.x_stride, count, p.in, p.x_stride);
  matmul(machine.compute, x, w, p.bias.data(), View(y.data(), count, p.out, p.y_stride));
  std::vector<float> dense;
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = y.data() + r * p.y_stride;
    dense.insert(dense.end(), row, row + p.out);
    for (std::int64_t o = p.out; o < p.y_stride; ++o)
      EXPECT_EQ(row[o], 77.0F) << "written outside of y";
  }
  return dense;
}

std::vector<double> exact(const Problem& p, const StoredWeight& w) {
  std::vector<double> y;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t o = 0; o < p.out; ++o) {
      double sum = static_cast<double>(p.bias[static_cast<std::size_t>(o)]);
      for (std::int64_t k = 0; k < p.in; ++k) {
        sum += static_cast<double>(p.x[static_cast<std::size_t>(r * p.x_stride + k)]) *
               static_cast<double>(w.values[static_cast<std::size_t>(o * p.in + k)]);
      }
      y.push_back(sum);
    }
  }
  return y;
}

class MatmulTest : public EverySet {};

TEST_P(MatmulTest, AgreesWithDoublePrecisionForEveryTypeAndSize) {
  const std::int64_t sizes[][3] = {{1, 1, 1},     {1, 16, 5},     {2, 56, 16},   {3, 72, 31},
                                   {4, 7, 9},     {5, 513, 8},    {7, 1536, 17}, {13, 1030, 4},
                                   {97, 48, 130}, {100, 600, 140}};
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const auto& size : sizes) {
      const Problem p = make_problem(size[0], size[1], size[2]);
      const StoredWeight w = store(p.out, p.in, dtype, 3);
      const auto y = multiply(set(), 2, p, w.weight, 0, p.rows);
      EXPECT_LE(relative_l2(y, exact(p, w)), 3e-7) << p.rows << " rows " << p.in << " -> " << p.out;
    }
  }
}

TEST_P(MatmulTest, BitsDependOnTheRowAlone) {
  for (const std::int64_t in : {16, 56, 72, 520, 1536, 4304}) {
    for (const DType dtype : {DType::bf16, DType::f32}) {
      const Problem p = make_problem(101, in, 37);
      const StoredWeight w = store(p.out, p.in, dtype, 5);
      const auto all = multiply(set(), 1, p, w.weight, 0, p.rows);
      for (const int threads : {2, 3, 7}) {
        EXPECT_TRUE(same_bits(all, multiply(set(), threads, p, w.weight, 0, p.rows)))
            << threads << " threads";
      }
      for (const std::int64_t count : {1, 2, 3, 4, 5, 8, 50}) {
        for (const std::int64_t first : {0, 1, 31}) {
          const auto part = multiply(set(), 2, p, w.weight, first, count);
          const std::vector<float> expected(all.begin() + first * p.out,
                                            all.begin() + (first + count) * p.out);
          EXPECT_TRUE(same_bits(part, expected))
              << count << " rows from " << first << ", in " << in;
        }
      }
    }
  }
}

// More rows than are put into groups at a time (16 MiB of them): a row in the second piece.
TEST_P(MatmulTest, BitsDoNotDependOnThePiece) {
  const Problem p = make_problem(1090, 4304, 3);
  const StoredWeight w = store(p.out, p.in, DType::bf16, 5);
  const auto all = multiply(set(), 2, p, w.weight, 0, p.rows);
  for (const std::int64_t first : {0, 95, 957, 959, 960, 1087}) {
    const std::vector<float> expected(all.begin() + first * p.out,
                                      all.begin() + (first + 3) * p.out);
    EXPECT_TRUE(same_bits(multiply(set(), 1, p, w.weight, first, 3), expected)) << "row " << first;
  }
}

TEST_P(MatmulTest, NoRowsOutputsOrInputs) {
  Machine machine(set(), 2);
  const float bias[2] = {3, 4};
  float y[4] = {9, 9, 9, 9};
  const Weight none{DType::f32, 2, 0, nullptr};
  matmul(machine.compute, ConstView(nullptr, 0, 5), Weight{DType::f32, 2, 5, nullptr}, bias,
         View(y, 0, 2));
  EXPECT_EQ(y[0], 9);
  matmul(machine.compute, ConstView(nullptr, 2, 0), none, bias, View(y, 2, 2));
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[3], 4);
}

TEST_P(MatmulTest, NonFiniteWeightsShow) {
  Problem p = make_problem(5, 20, 3);
  StoredWeight w = store(p.out, p.in, DType::f32, 5);
  const float nan = NAN;
  std::memcpy(w.bytes.data() + 1 + 25 * 4, &nan, 4);  // output 1
  const auto y = multiply(set(), 1, p, w.weight, 0, p.rows);
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_TRUE(std::isfinite(y[r * 3]));
    EXPECT_TRUE(std::isnan(y[r * 3 + 1]));
  }
}

TEST(WidenRow, GivesTheStoredValues) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const StoredWeight w = store(4, 33, dtype, 9);
    std::vector<float> row(33);
    widen_row(w.weight, 2, row.data());
    EXPECT_TRUE(same_bits(row, std::vector<float>(w.values.begin() + 66, w.values.begin() + 99)));
  }
}

SIGHTLINE_EVERY_SET(MatmulTest);

}  // namespace
}  // namespace sightline::kernels
