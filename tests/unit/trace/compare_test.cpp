// Protects the numbers that verdicts rest on: distances by hand-made examples, and that nothing
// which is not finite can ever count as equal.
#include "trace/compare.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "gtest/gtest.h"
#include "sightline/error.hpp"
#include "trace/sinks.hpp"
#include "trace/statistics.hpp"

namespace sightline::trace {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

io::StoredTensor tensor(const std::vector<float>& values, const Shape& shape) {
  return {"t",
          DType::f32,
          shape,
          reinterpret_cast<const std::byte*>(values.data()),
          static_cast<std::int64_t>(values.size() * 4),
          "f"};
}

Comparison compared(const std::vector<float>& ours, const std::vector<float>& reference) {
  const auto n = static_cast<std::int64_t>(ours.size());
  return compare(tensor(ours, {n}), tensor(reference, {1, n}));
}

TEST(Compare, Distances) {
  const Comparison c = compared({3, 4.5F}, {3, 4});
  EXPECT_DOUBLE_EQ(c.relative_l2, 0.1);
  EXPECT_DOUBLE_EQ(c.max_abs_error, 0.5);
  EXPECT_DOUBLE_EQ(c.max_abs_reference, 4);
  EXPECT_NEAR(c.cosine, 27 / (5 * std::hypot(3, 4.5)), 1e-15);
  EXPECT_EQ(c.elements, 2);
  EXPECT_EQ(c.rows, 1);
  EXPECT_EQ(c.rows_with_other_argmax, 0);
  EXPECT_EQ(compared({1, 2}, {1, 2}).relative_l2, 0);
  EXPECT_EQ(compared({0, 0}, {0, 0}).cosine, 1);
  EXPECT_EQ(compared({0, 1}, {0, 0}).relative_l2, kInf);
  EXPECT_EQ(compared({0, 0}, {0, 1}).cosine, 0);
}

TEST(Compare, ArgmaxOfEveryRow) {
  const std::vector<float> ours{1, 2, 3, 9, 2, 3}, reference{1, 2, 3, 1, 9, 3};
  const Comparison c = compare(tensor(ours, {2, 3}), tensor(reference, {1, 2, 3}));
  EXPECT_EQ(c.rows, 2);
  EXPECT_EQ(c.rows_with_other_argmax, 1);
}

TEST(Compare, WhatIsNotFiniteIsNeverNear) {
  for (const float bad : {kNaN, kInf, -kInf}) {
    const Comparison ours = compared({1, bad}, {1, 2});
    EXPECT_EQ(ours.relative_l2, kInf);
    EXPECT_EQ(ours.non_finite, 1);
    EXPECT_EQ(compared({1, 2}, {1, bad}).relative_l2, kInf);
    EXPECT_EQ(compared({1, bad}, {1, bad}).relative_l2, 0);  // a mask of -inf is one
  }
  EXPECT_EQ(compared({kInf}, {-kInf}).relative_l2, kInf);
}

TEST(Compare, OtherTypesAndBlocks) {
  std::vector<std::int64_t> ids(10'000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  const auto stored = [](const std::vector<std::int64_t>& values) {
    return io::StoredTensor{"i",
                            DType::i64,
                            {static_cast<std::int64_t>(values.size())},
                            reinterpret_cast<const std::byte*>(values.data()),
                            static_cast<std::int64_t>(values.size() * 8),
                            "f"};
  };
  std::vector<std::int64_t> other = ids;
  other.back() += 3;
  EXPECT_EQ(compare(stored(ids), stored(ids)).elements, 10'000);
  EXPECT_EQ(compare(stored(other), stored(ids)).max_abs_error, 3);
}

TEST(Compare, UnequalCountsAreNamed) {
  try {
    compare(tensor({1, 2}, {2}), tensor({1, 2, 3}, {1, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::tensor_shape);
    EXPECT_STREQ(error.what(), "t: expected 3 elements as in f ([1, 3]), found [2]");
  }
  const std::byte byte{};
  const io::StoredTensor packed{"p", DType::f8_e4m3, {1}, &byte, 1, "f"};
  EXPECT_THROW(compare(packed, packed), Error);
}

TEST(CompareCaptures, FirstDivergenceInCallOrder) {
  const std::string ours = ::testing::TempDir() + "sightline-ours",
                    reference = ::testing::TempDir() + "sightline-reference";
  const auto write = [](const std::string& path,
                        const std::vector<std::pair<const char*, std::vector<float>>>& tensors) {
    FileSink sink(path);
    for (const auto& [key, values] : tensors) {
      sink.put(key, {"",
                     DType::f32,
                     {static_cast<std::int64_t>(values.size())},
                     reinterpret_cast<const std::byte*>(values.data()),
                     static_cast<std::int64_t>(values.size())});
    }
    sink.finish();
  };
  write(ours, {{"z", {1, 1}}, {"new", {0}}, {"b", {1, 1.5F}}, {"a", {2, 2}}, {"s", {1}}});
  write(reference,
        {{"a", {1, 1}}, {"b", {1, 1}}, {"gone", {1}}, {"s", {1, 1}}, {"z", {1, 1.001F}}});
  const CaptureComparison result =
      compare_captures(io::SafetensorsFile(ours), io::SafetensorsFile(reference),
                       [](std::string_view key) { return key == "z" ? 1e-2 : 1e-4; });
  ASSERT_EQ(result.lines.size(), 6U);
  using State = CaptureLine::State;
  const std::vector<std::pair<std::string, State>> expected{
      {"z", State::within},   {"new", State::not_in_reference}, {"b", State::diverged},
      {"a", State::diverged}, {"s", State::other_shape},        {"gone", State::not_in_ours}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result.lines[i].key, expected[i].first);
    EXPECT_EQ(result.lines[i].state, expected[i].second) << expected[i].first;
  }
  EXPECT_EQ(result.first_divergence, 2U);
  std::filesystem::remove(ours);
  std::filesystem::remove(reference);
}

TEST(Statistics, OverFiniteElementsOfStridedRows) {
  const std::vector<float> values{1, 2, 99, -4, kNaN, 99};
  const Statistics s =
      statistics({"", DType::f32, {2, 2}, reinterpret_cast<const std::byte*>(values.data()), 3});
  EXPECT_EQ(s.elements, 4);
  EXPECT_EQ(s.non_finite, 1);
  EXPECT_EQ(s.min, -4);
  EXPECT_EQ(s.max, 2);
  EXPECT_DOUBLE_EQ(s.mean, -1.0 / 3);
  EXPECT_DOUBLE_EQ(s.rms, std::sqrt(7.0));
  const std::vector<float> bad{kInf};
  EXPECT_EQ(
      statistics({"", DType::f32, {1}, reinterpret_cast<const std::byte*>(bad.data()), 1}).max, 0);
  EXPECT_EQ(statistics({"", DType::f32, {3, 0}, nullptr, 0}).elements, 0);
}

}  // namespace
}  // namespace sightline::trace
