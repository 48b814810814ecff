// Frame sampling against what the reference's processor chose (tests/data/calc/sampling.json, made
// by the command in it) and at its limits. Protects: frames looked at, and the times that a model
// reads, for clips of any length and rate.
#include "calc/sampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "io/json.hpp"

namespace sightline::calc {
namespace {

using io::Json;

std::optional<double> number(const Json& input, const char* key) {
  const Json* value = input.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return value->as_double();
}

std::optional<std::int64_t> integer(const Json& input, const char* key) {
  const Json* value = input.find(key);
  if (value == nullptr) return std::nullopt;
  return value->as_int();
}

TEST(Sampling, ChoosesTheReferencesFrames) {
  const Json file = io::read_json_file(SIGHTLINE_TEST_DATA "/calc/sampling.json");
  std::size_t qwen_cases = 0;
  for (const Json& c : file.find("cases")->as_array()) {
    const Json& input = *c.find("input");
    const std::string where = io::to_json_text(input);
    const bool qwen = c.find("family")->as_string() == "qwen";
    qwen_cases += qwen ? 1 : 0;
    SamplingRule rule;
    rule.min_frames = integer(input, "min_frames").value_or(rule.min_frames);
    rule.max_frames = integer(input, "max_frames").value_or(rule.max_frames);
    const SamplingRequest request{*integer(input, "total_frames"), number(input, "native_fps"),
                                  number(input, "fps"), integer(input, "num_frames")};
    const Sampling sampling = qwen ? sample_qwen(request, rule) : sample_gemma(request);
    ASSERT_TRUE(sampling.problem.ok()) << where;
    const auto& indices = c.find("output")->find("indices")->as_array();
    ASSERT_EQ(static_cast<std::size_t>(sampling.count), indices.size()) << where;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      EXPECT_EQ(sampling.index(static_cast<std::int64_t>(k)), indices[k].as_int()) << where;
    }
    const auto& seconds = c.find("output")->find("seconds")->as_array();
    const auto& stamps = c.find("output")->find("timestamps")->as_array();
    ASSERT_EQ(static_cast<std::size_t>(sampling.groups()), seconds.size()) << where;
    for (std::size_t g = 0; g < seconds.size(); ++g) {
      const double time = sampling.seconds(static_cast<std::int64_t>(g));
      EXPECT_EQ(time, seconds[g].as_double()) << where;
      EXPECT_EQ((qwen ? seconds_text(time) : clock_text(time)).view(), stamps[g].as_string());
    }
  }
  EXPECT_GE(qwen_cases, 30U);
}

TEST(Sampling, AnyClipGivesFramesOfItInOrder) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 4000; ++i) {
    SamplingRequest request;
    request.total_frames = 1 + static_cast<std::int64_t>(random() % (1ULL << (random() % 30)));
    if (random() % 2 == 0) request.native_fps = 0.001 * static_cast<double>(1 + random() % 240000);
    if (random() % 2 == 0)
      request.fps = 0.01 * static_cast<double>(1 + random() % 10000);
    else if (random() % 2 == 0)
      request.num_frames = 1 + static_cast<std::int64_t>(random() % 900);
    const Sampling s = sample_qwen(request);
    ASSERT_TRUE(s.problem.ok()) << s.problem.message.view();
    ASSERT_GE(s.count, 1);
    if (!request.num_frames) {
      EXPECT_LE(s.count, std::min<std::int64_t>(768, s.total));
      EXPECT_GE(s.count, std::min<std::int64_t>(4, s.total));
    }
    EXPECT_EQ(s.index(0), 0);
    if (s.count > 1) {
      EXPECT_EQ(s.index(s.count - 1), s.total - 1);
    }
    for (std::int64_t k = 1; k < s.count; ++k) ASSERT_GE(s.index(k), s.index(k - 1));
    for (std::int64_t g = 1; g < s.groups(); ++g) ASSERT_GE(s.seconds(g), s.seconds(g - 1));
    const Sampling other = sample_gemma(request);
    EXPECT_EQ(other.problem.ok(), request.num_frames.value_or(32) <= request.total_frames)
        << other.problem.message.view();
  }
}

TEST(Sampling, BadInputIsNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](const SamplingRequest& request) {
    return std::string(sample_qwen(request).problem.message.view());
  };
  EXPECT_EQ(message({0, {}, {}, {}}),
            "total_frames: expected an integer from 1 to 1000000000, found 0");
  EXPECT_EQ(message({9, 0.0, {}, {}}),
            "native_fps: expected a number from 0.000001 to 1000000.0, found 0.0");
  EXPECT_EQ(message({9, nan, {}, {}}),
            "native_fps: expected a number from 0.000001 to 1000000.0, found nan");
  EXPECT_EQ(message({9, {}, -1.0, {}}),
            "fps: expected a number from 0.000001 to 1000000.0, found -1.0");
  EXPECT_EQ(message({9, {}, {}, 0}), "num_frames: expected an integer from 1 to 100000, found 0");
  EXPECT_EQ(sample_qwen({9, {}, 1.0, 3}).problem.code, ErrorCode::both_given);
  EXPECT_EQ(sample_gemma({9, {}, {}, 10}).problem.code, ErrorCode::too_many_frames);
  // The extremes of all inputs together stay finite.
  const Sampling longest = sample_qwen({kMaxTotalFrames, kMinRate, kMaxRate, {}});
  EXPECT_EQ(longest.count, 768);
  EXPECT_TRUE(std::isfinite(longest.seconds(longest.groups() - 1)));
  EXPECT_EQ(sample_qwen({kMaxTotalFrames, kMaxRate, kMinRate, {}}).count, 4);
}

TEST(TimeStamps, RoundAsTheReferencePrints) {
  EXPECT_EQ(seconds_text(0.25).view(), "0.2");  // ties go to the even digit
  EXPECT_EQ(seconds_text(0.75).view(), "0.8");
  EXPECT_EQ(seconds_text(0.35).view(), "0.3");  // the double lies below 0.35
  EXPECT_EQ(seconds_text(9.95).view(), "9.9");
  EXPECT_EQ(seconds_text(9.96).view(), "10.0");
  EXPECT_EQ(seconds_text(3597.5833333333335).view(), "3597.6");
  EXPECT_EQ(clock_text(59.99).view(), "00:59");
  EXPECT_EQ(clock_text(6001).view(), "100:01");
  std::mt19937_64 random(11);
  for (int i = 0; i < 40000; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(random() % 70) - 30);
    double value = scale * static_cast<double>(random() >> 11) * 0x1p-53;
    if (i % 3 == 0) value = static_cast<double>(random() % 100000) / 20;  // at and near ties
    if (i % 7 == 0) value = static_cast<double>(random() % 100000) / 4;
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.1f", value);
    ASSERT_EQ(seconds_text(value).view(), expected) << value;
  }
}

}  // namespace
}  // namespace sightline::calc
