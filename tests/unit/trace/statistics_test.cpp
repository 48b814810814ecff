// Protects the figures that traces show of a tensor: deviation and norm to the last digits even far
// from zero, NaN and infinities counted apart, histograms that hold every finite value once; and
// that several traces watch one run.
#include "trace/statistics.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "gtest/gtest.h"
#include "trace/recorder.hpp"
#include "trace/sinks.hpp"
#include "trace/tee.hpp"

namespace sightline::trace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorRef ref(const std::vector<double>& values, std::int64_t rows) {
  const auto cols = static_cast<std::int64_t>(values.size()) / rows;
  return {"x", DType::f64, {rows, cols}, reinterpret_cast<const std::byte*>(values.data()), cols};
}

TEST(StatisticsOf, DeviationAndNorm) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  const Statistics s = statistics(ref(values, 2));
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_DOUBLE_EQ(s.std, 2);
  EXPECT_DOUBLE_EQ(s.l2, std::sqrt(232));
  EXPECT_DOUBLE_EQ(s.rms, std::sqrt(29));
}

// The mean's own last digit is 1e-7 here; a sum of squares would be off by hundreds.
TEST(StatisticsOf, ALargeMeanCostsFewDigits) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e9 + (i % 2 == 0 ? 1 : -1));
  for (const std::int64_t rows : {1, 10, 1000})
    EXPECT_NEAR(statistics(ref(values, rows)).std, 1, 1e-7) << rows;
}

TEST(StatisticsOf, NanAndInfinitiesAreCountedAndLeftOut) {
  const std::vector<double> values{1, std::nan(""), kInfinity, -kInfinity, 3, std::nan("")};
  const Statistics s = statistics(ref(values, 3));
  EXPECT_EQ(s.nan, 2);
  EXPECT_EQ(s.inf, 2);
  EXPECT_EQ(s.non_finite, 4);
  EXPECT_DOUBLE_EQ(s.mean, 2);
  EXPECT_DOUBLE_EQ(s.std, 1);
}

TEST(MapsOf, EveryFiniteValueHasOneBin) {
  const std::vector<double> values{0, 1, 2, kInfinity, 63, 64, 32, 31.9};
  const TensorRef tensor = ref(values, 2);
  const Maps m = maps(tensor, statistics(tensor));
  ASSERT_EQ(m.histogram.size(), static_cast<std::size_t>(kHistogramBins));
  EXPECT_EQ(std::accumulate(m.histogram.begin(), m.histogram.end(), std::int64_t{0}), 7);
  EXPECT_EQ(m.histogram[0], 1);
  EXPECT_EQ(m.histogram[31], 1);
  EXPECT_EQ(m.histogram[32], 1);
  EXPECT_EQ(m.histogram[63], 2);  // the greatest value belongs to the last bin
  ASSERT_EQ(m.row_norms.size(), 2U);
  EXPECT_DOUBLE_EQ(m.row_norms[0], std::sqrt(5));
  const std::vector<double> equal(6, 4.0);
  EXPECT_EQ(maps(ref(equal, 2), statistics(ref(equal, 2))).histogram[0], 6);
}

// An operation inside a module does not count as a call of the module, and has a key of its own.
TEST(Keys, OperationsAndSelectedValues) {
  const Site root{0, "", "Root"}, model{1, "model", "Model"},
      scatter{2, "model", "masked_scatter", {}, true};
  const std::vector<double> values{1, 2};
  const auto here = std::source_location::current();
  const auto run = [&](const RecordOptions& options) {
    MemorySink a(1 << 20), b(1 << 20);
    Recorder first(options, a), second({}, b);
    Tee tee({&first, &second});
    for (const Site* site : {&root, &model, &scatter}) {
      tee.enter(*site, here, here);
      tee.input(*site, ref(values, 1));
      tee.input(*site, ref(values, 1));
    }
    for (const Site* site : {&scatter, &model, &root}) {
      tee.output(*site, ref(values, 1));
      tee.leave(*site);
    }
    EXPECT_EQ(b.size(), 2U);  // the root's output is the head's
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < a.size(); ++i) keys.emplace_back(a.at(i).name);
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(run({}), (Keys{"trace/model.masked_scatter", "trace/model"}));
  EXPECT_EQ(run({{"*"}}), (Keys{"trace/model.masked_scatter", "trace/model"}));
  EXPECT_EQ(run({{"model|*", "*scatter"}}),
            (Keys{"trace/model|in", "trace/model|x", "trace/model.masked_scatter"}));
}

}  // namespace
}  // namespace sightline::trace
