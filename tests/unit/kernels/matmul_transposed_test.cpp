// Protects the product with weights that are stored (in, out): right to float32 accuracy for every
// storage type, size and alignment, and the promise that a row's bits depend on that row alone.
#include "kernels/matmul.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

struct Stored {
  std::vector<std::byte> bytes;  ///< one byte before the data, so that nothing is aligned
  std::vector<float> values;     ///< what the stored bits mean
  Weight weight;
};

Stored store(std::int64_t in, std::int64_t out, DType dtype) {
  Stored stored;
  stored.values = random_values(in * out, 3, 0.5F);
  const auto size = static_cast<std::size_t>(dtype_size(dtype));
  stored.bytes.resize(1 + stored.values.size() * size);
  for (std::size_t i = 0; i < stored.values.size(); ++i) {
    std::byte* target = stored.bytes.data() + 1 + i * size;
    if (dtype == DType::f32) {
      std::memcpy(target, &stored.values[i], size);
      continue;
    }
    const bf16 rounded = to_bf16(stored.values[i]);
    std::memcpy(target, &rounded.bits, size);
    stored.values[i] = widen(rounded);
  }
  stored.weight = {dtype, in, out, stored.bytes.data() + 1};
  return stored;
}

/// Rows [first, first + count) of x (rows, in) against the weight; x and y lie apart from their
/// neighbours, which must neither be read nor written.
std::vector<float> multiply(const Kernels& set, int threads, const std::vector<float>& x,
                            const Weight& weight, std::int64_t first, std::int64_t count) {
  const std::int64_t in = weight.out, out = weight.in, x_stride = in + 3, y_stride = out + 5;
  std::vector<float> wide(static_cast<std::size_t>(count * x_stride), NAN);
  for (std::int64_t r = 0; r < count; ++r) {
    std::memcpy(wide.data() + r * x_stride, x.data() + (first + r) * in,
                static_cast<std::size_t>(in) * sizeof(float));
  }
  std::vector<float> y(static_cast<std::size_t>(count * y_stride), 77.0F);
  Machine machine(set, threads);
  matmul_transposed(machine.compute, ConstView(wide.data(), count, in, x_stride), weight,
                    View(y.data(), count, out, y_stride));
  std::vector<float> dense;
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = y.data() + r * y_stride;
    dense.insert(dense.end(), row, row + out);
    for (std::int64_t o = out; o < y_stride; ++o) EXPECT_EQ(row[o], 77.0F) << "outside of y";
  }
  return dense;
}

class MatmulTransposedTest : public EverySet {};
SIGHTLINE_EVERY_SET(MatmulTransposedTest);

TEST_P(MatmulTransposedTest, AgreesWithDoublePrecision) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& [rows, in, out] : {std::array<std::int64_t, 3>{1, 1, 1},
                                        {1, 2048, 129},
                                        {3, 31, 127},
                                        {7, 33, 128},
                                        {100, 65, 260},
                                        {193, 48, 64}}) {
      const Stored stored = store(in, out, dtype);
      const std::vector<float> x = random_values(rows * in, 5);
      std::vector<double> exact;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t o = 0; o < out; ++o) {
          double sum = 0;
          for (std::int64_t k = 0; k < in; ++k) {
            sum += static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) *
                   static_cast<double>(stored.values[static_cast<std::size_t>(k * out + o)]);
          }
          exact.push_back(sum);
        }
      }
      EXPECT_LT(relative_l2(multiply(set(), 2, x, stored.weight, 0, rows), exact), 1e-6)
          << rows << " x " << in << " x " << out;
    }
  }
}

TEST_P(MatmulTransposedTest, BitsDependOnTheRowAlone) {
  constexpr std::int64_t kRows = 100, kIn = 301, kOut = 300;
  const Stored stored = store(kIn, kOut, DType::bf16);
  const std::vector<float> x = random_values(kRows * kIn, 6);
  const std::vector<float> all = multiply(set(), 1, x, stored.weight, 0, kRows);
  for (const int threads : {1, 3}) {
    for (const auto& [first, count] :
         {std::pair<std::int64_t, std::int64_t>{0, 1}, {99, 1}, {17, 5}, {2, 97}, {0, 100}}) {
      const auto begin = all.begin() + first * kOut;
      EXPECT_TRUE(same_bits(multiply(set(), threads, x, stored.weight, first, count),
                            std::vector<float>(begin, begin + count * kOut)))
          << threads << " threads, rows " << first << " + " << count;
    }
  }
}

TEST_P(MatmulTransposedTest, NoRowsOrOutputs) {
  const Stored stored = store(8, 4, DType::f32);
  EXPECT_TRUE(multiply(set(), 1, {}, stored.weight, 0, 0).empty());
  const Stored none = store(8, 0, DType::f32);
  EXPECT_TRUE(multiply(set(), 1, random_values(8, 1), none.weight, 0, 1).empty());
}

}  // namespace
}  // namespace sightline::kernels
