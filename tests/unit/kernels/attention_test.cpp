// Protects tiled attention: right against a plain double-precision softmax for every head width
// and grouping, in pairs of bfloat16 as near to it as rounding allows, and the promise that a query
// row's bits depend neither on its company, nor on threads, nor on how a prompt was cut, nor on
// what it does not see.
#include "kernels/attention.hpp"

#include <algorithm>

#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

struct Case {
  AttentionShape shape;
  std::int64_t first = 0, rows = 0, length = 0;
  DType dtype = DType::f32;
  std::vector<float> q, k, v;  ///< dense
  std::vector<std::vector<std::byte>> key_blocks, value_blocks;
  std::vector<const std::byte*> keys, values;

  KvBlocks blocks(std::int64_t visible) const {
    return {keys.data(), values.data(), dtype, visible};
  }
};

void fill_blocks(const Case& c, std::vector<float>& x, std::vector<std::vector<std::byte>>& blocks,
                 std::vector<const std::byte*>& pointers) {
  const std::int64_t cols = c.shape.kv_heads * c.shape.head_dim;
  const std::int64_t count = (c.length + kKvBlock - 1) / kKvBlock;
  std::vector<std::byte*> targets;
  for (std::int64_t b = 0; b < count; ++b) {
    // 0xff bytes are NaN: reading a position that nobody wrote shows.
    blocks.emplace_back(static_cast<std::size_t>(kKvBlock * cols * dtype_size(c.dtype)),
                        std::byte{0xff});
  }
  for (auto& block : blocks) {
    targets.push_back(block.data());
    pointers.push_back(block.data());
  }
  // In two calls, as a cache grows.
  const std::int64_t half = c.length / 2;
  store_kv(ConstView(x.data(), half, cols), c.shape.kv_heads, 0, c.dtype, targets.data());
  store_kv(ConstView(x.data() + half * cols, c.length - half, cols), c.shape.kv_heads, half,
           c.dtype, targets.data());
  if (c.dtype == DType::bf16) {
    for (float& value : x) value = widen(to_bf16(value));
  }
}

Case make_case(const AttentionShape& shape, std::int64_t first, std::int64_t rows,
               std::int64_t length, DType dtype) {
  Case c;
  c.shape = shape;
  c.first = first;
  c.rows = rows;
  c.length = length;
  c.dtype = dtype;
  c.q = random_values(rows * shape.heads * shape.head_dim, 1, 1.5F);
  c.k = random_values(length * shape.kv_heads * shape.head_dim, 2, 1.5F);
  c.v = random_values(length * shape.kv_heads * shape.head_dim, 3);
  fill_blocks(c, c.k, c.key_blocks, c.keys);
  fill_blocks(c, c.v, c.value_blocks, c.values);
  return c;
}

std::vector<float> attend(const Kernels& set, int threads, const Case& c, std::int64_t begin,
                          std::int64_t count, std::int64_t length,
                          Precision precision = Precision::f32) {
  Machine machine(set, threads);
  machine.compute.precision = precision;
  const std::int64_t cols = c.shape.heads * c.shape.head_dim;
  std::vector<float> out(static_cast<std::size_t>(count * cols), 55.0F);
  attention(machine.compute, c.shape, ConstView(c.q.data() + begin * cols, count, cols),
            c.first + begin, c.blocks(length), View(out.data(), count, cols));
  return out;
}

std::vector<double> exact(const Case& c) {
  const std::int64_t dim = c.shape.head_dim;
  std::vector<double> out(static_cast<std::size_t>(c.rows * c.shape.heads * dim));
  for (std::int64_t r = 0; r < c.rows; ++r) {
    for (std::int64_t h = 0; h < c.shape.heads; ++h) {
      const std::int64_t group = h / (c.shape.heads / c.shape.kv_heads);
      const float* q = c.q.data() + (r * c.shape.heads + h) * dim;
      const std::int64_t seen = c.first + r + 1;
      std::vector<double> p(static_cast<std::size_t>(seen));
      double top = -1e300, sum = 0;
      for (std::int64_t s = 0; s < seen; ++s) {
        const float* k = c.k.data() + (s * c.shape.kv_heads + group) * dim;
        double dot = 0;
        for (std::int64_t d = 0; d < dim; ++d)
          dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
        p[static_cast<std::size_t>(s)] = dot * static_cast<double>(c.shape.scale);
        top = std::max(top, p[static_cast<std::size_t>(s)]);
      }
      for (double& value : p) sum += value = std::exp(value - top);
      for (std::int64_t s = 0; s < seen; ++s) {
        const float* v = c.v.data() + (s * c.shape.kv_heads + group) * dim;
        for (std::int64_t d = 0; d < dim; ++d) {
          out[static_cast<std::size_t>((r * c.shape.heads + h) * dim + d)] +=
              p[static_cast<std::size_t>(s)] / sum * static_cast<double>(v[d]);
        }
      }
    }
  }
  return out;
}

AttentionShape shape_of(std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
  return {heads, kv_heads, dim, 1.0F / std::sqrt(static_cast<float>(dim))};
}

class AttentionTest : public EverySet {};

TEST_P(AttentionTest, AgreesWithDoublePrecision) {
  for (const std::int64_t dim : {16, 32, 64, 72, 80, 128, 256, 20}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Case c = make_case(shape_of(4, 2, dim), 60, 75, 135, dtype);
      EXPECT_LE(relative_l2(attend(set(), 2, c, 0, 75, 135), exact(c)), 1e-6) << "width " << dim;
    }
  }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  Case c = make_case(shape_of(2, 1, 32), 0, 70, 70, DType::f32);
  for (float& value : c.q) value *= 1000.0F;
  const auto out = attend(set(), 1, c, 0, 70, 70);
  EXPECT_LE(relative_l2(out, exact(c)), 1e-3);
}

void expect_bits_of_the_row_alone(const Kernels& set, const Case& c, Precision precision) {
  const std::int64_t cols = c.shape.heads * c.shape.head_dim;
  const auto all = attend(set, 1, c, 0, c.rows, c.length, precision);
  for (const int threads : {2, 3, 7})
    EXPECT_TRUE(same_bits(all, attend(set, threads, c, 0, c.rows, c.length, precision)));
  for (const std::int64_t count : {1, 2, 5, 64}) {
    for (const std::int64_t begin : {0, 1, 33, 34, 98, 106}) {
      // Later positions do not exist yet when a prompt comes in pieces.
      const auto part = attend(set, 2, c, begin, count, c.first + begin + count, precision);
      const std::vector<float> expected(all.begin() + begin * cols,
                                        all.begin() + (begin + count) * cols);
      EXPECT_TRUE(same_bits(part, expected)) << count << " rows from " << begin;
    }
  }
}

/// Eight heads of two groups, and five of one.
std::vector<AttentionShape> grouped_shapes(std::int64_t dim) {
  return {shape_of(8, 2, dim), shape_of(5, 1, dim)};
}

TEST_P(AttentionTest, BitsOfARowDependOnTheRowAlone) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const AttentionShape& shape : grouped_shapes(72))
      expect_bits_of_the_row_alone(set(), make_case(shape, 30, 170, 200, dtype), Precision::f32);
  }
}

/// What comes after position `last` is no number.
void spoil_after(std::int64_t last, Case& c) {
  for (auto* blocks : {&c.key_blocks, &c.value_blocks}) {
    for (std::int64_t p = last + 1; p < c.length; ++p) {
      for (std::int64_t h = 0; h < c.shape.kv_heads; ++h) {
        const std::int64_t bytes = c.shape.head_dim * dtype_size(c.dtype);
        std::byte* row = (*blocks)[static_cast<std::size_t>(p / kKvBlock)].data() +
                         (h * kKvBlock + p % kKvBlock) * bytes;
        std::memset(row, 0xff, static_cast<std::size_t>(bytes));
      }
    }
  }
}

void expect_no_glance_ahead(const Kernels& set, DType dtype, Precision precision) {
  for (const std::int64_t last : {66, 67}) {
    Case c = make_case(shape_of(4, 2, 40), 60, 20, 80, dtype);
    const std::int64_t values = (last + 1 - c.first) * 4 * 40;
    auto before = attend(set, 1, c, 0, c.rows, c.length, precision);
    spoil_after(last, c);
    auto after = attend(set, 1, c, 0, c.rows, c.length, precision);
    EXPECT_TRUE(std::isnan(after.back()));
    before.resize(static_cast<std::size_t>(values));
    after.resize(static_cast<std::size_t>(values));
    EXPECT_TRUE(same_bits(before, after)) << "to position " << last;
  }
}

TEST_P(AttentionTest, WhatARowDoesNotSeeMayBeAnything) {
  for (const DType dtype : {DType::f32, DType::bf16})
    expect_no_glance_ahead(set(), dtype, Precision::f32);
}

TEST_P(AttentionTest, StopsWhenCancelled) {
  const Case c = make_case(shape_of(2, 2, 16), 0, 10, 10, DType::f32);
  Machine machine(set(), 2);
  const std::atomic<bool> cancel{true};
  machine.compute.cancel = &cancel;
  std::vector<float> out(10 * 32, 55.0F);
  attention(machine.compute, c.shape, ConstView(c.q.data(), 10, 32), 0, c.blocks(10),
            View(out.data(), 10, 32));
  EXPECT_EQ(out[0], 55.0F);
}

SIGHTLINE_EVERY_SET(AttentionTest);

/// The sets that multiply pairs of bfloat16.
class AttentionOverRoundedKeys : public EverySet {};

// Beside keys and values, which exact() has as they are stored, a query or weight is rounded by at
// most 2^-9 of itself; weights move by a few times that, as scores are sums of `dim` products.
TEST_P(AttentionOverRoundedKeys, IsNearDoublePrecision) {
  for (const std::int64_t dim : {16, 32, 64, 72, 80, 128, 256, 20, 7}) {
    const Case c = make_case(shape_of(4, 2, dim), 60, 75, 135, DType::bf16);
    const double off = relative_l2(attend(set(), 2, c, 0, 75, 135, Precision::bf16), exact(c));
    EXPECT_LE(off, 1.2e-2) << "width " << dim;
    EXPECT_GE(off, 5e-4) << "was anything rounded?";
  }
}

TEST_P(AttentionOverRoundedKeys, BitsOfARowDependOnTheRowAlone) {
  for (const std::int64_t dim : {72, 256}) {
    for (const AttentionShape& shape : grouped_shapes(dim)) {
      expect_bits_of_the_row_alone(set(), make_case(shape, 30, 170, 200, DType::bf16),
                                   Precision::bf16);
    }
  }
}

TEST_P(AttentionOverRoundedKeys, WhatARowDoesNotSeeMayBeAnything) {
  expect_no_glance_ahead(set(), DType::bf16, Precision::bf16);
}

TEST_P(AttentionOverRoundedKeys, Float32RoundsNothing) {
  const Case c = make_case(shape_of(4, 2, 72), 60, 75, 135, DType::f32);
  for (const Precision precision : {Precision::f32, Precision::bf16})
    EXPECT_LE(relative_l2(attend(set(), 2, c, 0, 75, 135, precision), exact(c)), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(, AttentionOverRoundedKeys,
                         testing::Values("amx-twin", "amx", "avx512-bf16-twin", "avx512-bf16"),
                         [](const auto& info) { return test_name(info.param); });

// The rest of a twin is the best other set of this machine, whose softmax the set shares.
TEST(AttentionOverKeysInPairs, TheInstructionsHaveTheBitsOfTheTwin) {
  const Case c = make_case(shape_of(8, 2, 72), 30, 170, 200, DType::bf16);
  for (const SetInfo& info : list_sets()) {
    if (!info.available || (info.name != "avx512-bf16" && info.name != "amx")) continue;
    const auto expected =
        attend(select(std::string(info.name) + "-twin"), 1, c, 0, 170, 200, Precision::bf16);
    EXPECT_TRUE(same_bits(attend(select(info.name), 2, c, 0, 170, 200, Precision::bf16), expected))
        << info.name;
  }
}

}  // namespace
}  // namespace sightline::kernels
