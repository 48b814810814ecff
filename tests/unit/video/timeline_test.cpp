// Rates and times from presentation times. Protects: which frame stands for which moment, and the
// rate that sampling and time stamps are computed with.
#include "video/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace sightline::video {
namespace {

StoredTimes even(std::int64_t count, std::int64_t step, double tick) {
  StoredTimes times;
  times.tick = tick;
  times.last_duration = step;
  for (std::int64_t i = 0; i < count; ++i) times.ticks.push_back(1000 + i * step);
  return times;
}

TEST(Timeline, AConstantRateKeepsEveryFrame) {
  StoredTimes times = even(30, 512, 1.0 / 15360);
  for (const bool stated : {false, true}) {
    times.stated_rate = stated ? std::optional(30.0) : std::nullopt;
    const Timeline line = make_timeline(times);
    EXPECT_FALSE(line.variable);
    EXPECT_EQ(line.frames, 30);
    EXPECT_NEAR(*line.rate, 30.0, 1e-9);
    EXPECT_EQ(line.stored(17), 17);
  }
}

TEST(Timeline, TimesRoundedToMillisecondsAreStillConstant) {
  StoredTimes times;
  times.tick = 1e-3;
  times.stated_rate = 30000.0 / 1001;
  for (int i = 0; i < 300; ++i) times.ticks.push_back(std::llround(i * 1001.0 / 30));
  const Timeline line = make_timeline(times);
  EXPECT_FALSE(line.variable);
  EXPECT_EQ(*line.rate, 30000.0 / 1001);
}

TEST(Timeline, AVariableRateIsReadByTime) {
  // Ten frames a second apart, then ten at ten a second.
  StoredTimes times;
  times.tick = 1e-3;
  for (int i = 0; i < 10; ++i) times.ticks.push_back(i * 1000);
  for (int i = 0; i < 10; ++i) times.ticks.push_back(10000 + i * 100);
  times.last_duration = 100;
  const Timeline line = make_timeline(times);
  ASSERT_TRUE(line.variable);
  EXPECT_EQ(line.frames, 20);
  EXPECT_NEAR(*line.rate, 20 / 11.0, 1e-9);
  for (std::int64_t k = 0; k < line.frames; ++k) {
    const double time = static_cast<double>(k) * 11 / 20;
    const auto shown = static_cast<std::int64_t>(time < 10 ? time : 10 + (time - 10) * 10);
    EXPECT_EQ(line.stored(k), shown) << k;
  }
}

TEST(Timeline, AStatedRateThatContradictsTheTimesIsNotBelieved) {
  StoredTimes times = even(50, 40, 1e-3);
  times.stated_rate = 1000;
  EXPECT_NEAR(*make_timeline(times).rate, 25, 1e-9);
}

TEST(Timeline, DamagedTimesNeverLeaveTheClip) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    StoredTimes times;
    times.tick = i % 3 == 0 ? 1e-3 : 1.0 / 90000;
    const std::size_t count = 1 + random() % 20;
    while (times.ticks.size() < count)
      times.ticks.push_back(static_cast<std::int64_t>(random() >> (random() % 64)));
    if (i % 5 == 0) times.ticks.back() = std::numeric_limits<std::int64_t>::min();
    std::sort(times.ticks.begin(), times.ticks.end());
    times.last_duration = static_cast<std::int64_t>(random() % 5000);
    if (i % 2 == 0) times.stated_rate = static_cast<double>(random() % 100);
    const Timeline line = make_timeline(times);
    ASSERT_GE(line.frames, 1);
    for (const std::int64_t k : {std::int64_t{0}, line.frames / 2, line.frames - 1}) {
      ASSERT_GE(line.stored(k), 0);
      ASSERT_LT(line.stored(k), static_cast<std::int64_t>(count));
    }
  }
}

}  // namespace
}  // namespace sightline::video
