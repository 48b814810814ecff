// Protects: the choice of tokens: same seed, same tokens; filters in transformers' order; ties by
// id; masks and bad logits.
#include "generate/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace sightline::generate {
namespace {

std::int32_t choose(const SamplerOptions& options, std::vector<float> logits, TokenMask mask = {}) {
  return Sampler(options, {}, static_cast<std::int64_t>(logits.size())).next(logits, mask);
}

TEST(Sampler, GreedyTakesTheLowestIdOfEqualLogits) { EXPECT_EQ(choose({}, {1, 3, 3, 2}), 1); }

TEST(Sampler, MaskForbidsIds) {
  const std::vector<std::uint64_t> mask{0b1001};
  EXPECT_EQ(choose({}, {1, 3, 3, 2}, mask), 3);
  // Ids beyond the mask are forbidden too.
  std::vector<float> logits(70, 0);
  logits[69] = 9;
  EXPECT_EQ(choose({}, logits, mask), 0);
}

TEST(Sampler, NotANumberIsNeverChosen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(choose({}, {nan, 1, nan}), 1);
  try {
    choose({}, {nan, nan});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::non_finite);
  }
}

// Frequencies of many positions follow the distribution; every position has its own random number.
std::map<std::int32_t, int> frequencies(const SamplerOptions& options,
                                        const std::vector<float>& logits, int draws) {
  Sampler sampler(options, {}, static_cast<std::int64_t>(logits.size()));
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.next(logits)];
  return counts;
}

TEST(Sampler, FollowsTheDistribution) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  SamplerOptions options;
  options.temperature = 1;
  options.seed = 7;
  constexpr int kDraws = 20000;
  auto counts = frequencies(options, logits, kDraws);
  EXPECT_NEAR(counts[0] / static_cast<double>(kDraws), 0.5, 0.02);
  EXPECT_NEAR(counts[1] / static_cast<double>(kDraws), 0.3, 0.02);
  EXPECT_NEAR(counts[2] / static_cast<double>(kDraws), 0.2, 0.02);
}

TEST(Sampler, FiltersKeepWhatTransformersKeeps) {
  const std::vector<float> logits{std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  SamplerOptions options;
  options.temperature = 1;
  constexpr int kDraws = 500;
  options.top_k = 2;
  EXPECT_FALSE(frequencies(options, logits, kDraws).contains(0));
  options.top_k = 0;
  options.top_p = 0.5;  // the first candidate alone reaches one half
  EXPECT_EQ(frequencies(options, logits, kDraws).size(), 1U);
  options.top_p = 0.51;
  EXPECT_EQ(frequencies(options, logits, kDraws).size(), 2U);
  options.top_p = 1;
  options.min_p = 0.5;  // at least half as likely as the first: 0.25
  EXPECT_EQ(frequencies(options, logits, kDraws).size(), 2U);
}

// Scores divided by almost nothing overflow; the choice must not.
TEST(Sampler, TheSmallestTemperatureIsGreedy) {
  SamplerOptions options;
  for (const double temperature : {1e-5, 1e-40, 1e-308, 5e-324}) {
    options.temperature = temperature;
    EXPECT_EQ(frequencies(options, {-3, 7, 6.9F, -100}, 50), (std::map<std::int32_t, int>{{1, 50}}))
        << temperature;
  }
  options.temperature = 1;
  options.top_p = 0;
  EXPECT_EQ(frequencies(options, {-3, 7, 6.9F, -100}, 50), (std::map<std::int32_t, int>{{1, 50}}));
}

TEST(Sampler, SameSeedSameTokensOtherChoiceOthers) {
  std::vector<float> logits(100);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = 0.01F * static_cast<float>(i % 7);
  SamplerOptions options;
  options.temperature = 1;
  options.seed = 42;
  const auto answer = [&](const SamplerOptions& o) {
    Sampler sampler(o, {}, 100);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sampler.next(logits));
    return ids;
  };
  EXPECT_EQ(answer(options), answer(options));
  SamplerOptions other = options;
  other.choice = 1;
  EXPECT_NE(answer(options), answer(other));
}

// The published random numbers: another implementation must get these to reproduce an answer.
TEST(Sampler, UniformIsAFunctionOfItsArguments) {
  EXPECT_EQ(uniform(1, 2, 3), uniform(1, 2, 3));
  EXPECT_NE(uniform(1, 2, 3), uniform(1, 2, 4));
  EXPECT_NE(uniform(1, 2, 3), uniform(1, 3, 3));
  EXPECT_NE(uniform(1, 2, 3), uniform(2, 2, 3));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(uniform(i, 0, 0), 0);
    EXPECT_LT(uniform(i, 0, 0), 1);
  }
}

TEST(Sampler, Penalties) {
  SamplerOptions options;
  options.presence_penalty = 1.5;
  Sampler presence(options, std::vector<std::int32_t>{1}, 2);
  // The prompt does not count for presence; the first answer token does.
  EXPECT_EQ(presence.next(std::vector<float>{0, 1}), 1);
  EXPECT_EQ(presence.next(std::vector<float>{0, 1}), 0);

  options = {};
  options.repetition_penalty = 2;
  Sampler repetition(options, std::vector<std::int32_t>{1, 3, 99}, 4);
  // Positive logits are divided, negative multiplied, for prompt ids too (id 99 lies outside and is
  // ignored).
  EXPECT_EQ(repetition.next(std::vector<float>{0.9F, 1.6F, -9, -9}), 0);
}

TEST(Sampler, OptionsAreChecked) {
  const auto code = [](SamplerOptions options) {
    try {
      check_options(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SamplerOptions options;
  EXPECT_EQ(code(options), "");
  options.top_p = 0;  // the most likely token alone, as in transformers
  EXPECT_EQ(code(options), "");
  options.top_p = 1.5;
  EXPECT_EQ(code(options), "top_p: expected a number from 0 to 1, found 1.5");
  options = {};
  options.temperature = -1;
  EXPECT_EQ(code(options), "temperature: expected a number from 0 to 100, found -1");
  options.temperature = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(code(options), "");
}

TEST(Logprobs, AreTheLogarithmOfTheSoftmax) {
  const std::vector<float> logits{0, std::log(3.0F)};
  const LogprobRow row = logprobs(logits, 0, 5);
  EXPECT_NEAR(row.chosen, std::log(0.25), 1e-6);
  ASSERT_EQ(row.top.size(), 2U);
  EXPECT_EQ(row.top[0].first, 1);
  EXPECT_NEAR(row.top[0].second, std::log(0.75), 1e-6);
}

}  // namespace
}  // namespace sightline::generate
