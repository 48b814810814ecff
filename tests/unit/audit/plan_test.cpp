// Protects: a plan counts the tokens that the processor's rules give, work that grows with the
// prompt, and measures this machine briefly.
#include "audit/plan.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "audit/plan_prompt.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

class Planned : public ::testing::Test {
 protected:
  [[nodiscard]] PlannedVisual picture(const char* size) const {
    return plan_picture(model_->info(), subject_, size);
  }
  [[nodiscard]] PlannedVisual clip(const char* size) const {
    return plan_clip(model_->info(), subject_, size);
  }
  [[nodiscard]] Plan plan(std::vector<PlannedVisual> visuals, std::int64_t others) const {
    const MachineRates rates{1e9, 1e8, 1e10, 1, "reference"};
    return make_plan(*model_, std::move(visuals), others, 512, rates);
  }

  Subject subject_ = subject_of(*find_member("qwen3.5-2b"));
  std::unique_ptr<model::VisionLanguageModel> model_ = subject_.declare();
};

TEST_F(Planned, TheReferencesQuestion) {
  const Plan plan = this->plan({picture("64x64")}, 16);
  EXPECT_EQ(plan.visuals[0].resized_width, 256);
  EXPECT_EQ(plan.visuals[0].grid, (nn::Grid{1, 16, 16}));
  EXPECT_EQ(plan.visual_tokens, 64);
  EXPECT_EQ(plan.prompt_tokens, 80);
  // Weights without mtp.*: BF16, and 2,592 values in F32.
  EXPECT_EQ(plan.weight_bytes, (331'416'576LL + 1'881'825'088) * 2 + 2'592 * 2);
  ASSERT_EQ(plan.stages.size(), 3U);
  // Products alone: two operations for every weight and row that it meets.
  EXPECT_GT(plan.stages[0].work.flops, 2LL * 256 * 302'309'376);
  EXPECT_GT(plan.stages[1].work.flops, 2LL * 80 * (1'881'825'088 - 508'559'360));
  // A step reads every weight of the language model once, the embeddings as the head.
  EXPECT_NEAR(static_cast<double>(plan.stages[2].work.weight_bytes), 2.0 * 1'881'825'088, 2e7);
  EXPECT_DOUBLE_EQ(plan.stages[2].seconds,
                   static_cast<double>(plan.stages[2].work.weight_bytes) / 1e8 +
                       static_cast<double>(plan.stages[2].work.activation_bytes) / 1e10);
  // 64x64 and 256x256 pixels of three bytes, 256 patches of 1536 float32.
  EXPECT_EQ(plan.picture_bytes, 3 * (64 * 64 + 256 * 256) + 256 * 1536 * 4);
  EXPECT_EQ(plan.memory_bytes(),
            plan.weight_bytes + plan.cache_bytes + plan.scratch_bytes + plan.picture_bytes);
}

// Specification 3.2, the table of clips: tokens per group x groups.
TEST_F(Planned, ClipsFollowTheVideoProcessor) {
  const struct {
    const char* size;
    std::int64_t width, height, tokens;
  } cases[] = {{"2x64x64", 64, 64, 4},
               {"12x1344x768", 1344, 768, 1008 * 6},
               {"20x1280x720", 1280, 704, 880 * 10},
               {"46x1280x720", 960, 544, 510 * 23},
               {"768x1280x720", 224, 128, 28 * 384}};
  for (const auto& c : cases) {
    const PlannedVisual visual = clip(c.size);
    EXPECT_EQ(visual.resized_width, c.width) << c.size;
    EXPECT_EQ(visual.resized_height, c.height) << c.size;
    EXPECT_EQ(visual.tokens, c.tokens) << c.size;
  }
  EXPECT_EQ(plan({clip("4x64x64"), picture("64x64")}, 10).prompt_tokens, 8 + 64 + 10);
}

// Specification 4.5 and 3.4: 16 tokens beside a picture with "color?" (two tokens); a clip has its
// own marks, and for each group a stamp (6 tokens, 7 from ten seconds on) and two marks.
TEST_F(Planned, TextIsCountedAsTheTemplateWritesIt) {
  const std::string published = std::string(SIGHTLINE_TEST_DATA) + "/processor";
  const std::vector<PlannedVisual> visuals{picture("64x64"), clip("22x64x64")};
  const std::int64_t stamps = 10 * 6 + 7 + 11 * 2;
  const PlannedText guessed = plan_text(std::nullopt, visuals, {std::nullopt, 2});
  EXPECT_FALSE(guessed.exact);
  EXPECT_EQ(guessed.tokens(), 16 + 2 + stamps);
  const PlannedText exact = plan_text(published, visuals, {"color?", 0});
  EXPECT_TRUE(exact.exact);
  EXPECT_EQ(exact.question, 2);
  EXPECT_EQ(exact.tokens(), guessed.tokens());
  EXPECT_EQ(plan_text(published, {visuals[0]}, {"color?", 0}).tokens(), 16);
  EXPECT_EQ(plan_text(published, {}, {"color?", 0}).tokens(), 14);
  EXPECT_EQ(plan_text(published, {}, {std::nullopt, 5}).tokens(), 17);
  EXPECT_THROW((void)plan_text(std::nullopt, visuals, {"color?", 0}), Error);
}

TEST_F(Planned, WrongSizesAreRefused) {
  for (const char* size : {"1x64x64", "64x64", "x64x64", "4x64", "9999999999x64x64", "axbxc"})
    EXPECT_THROW((void)clip(size), Error) << size;
  for (const char* size : {"64", "0x64", "64x", "6000x10"})
    EXPECT_THROW((void)picture(size), Error) << size;
  EXPECT_THROW((void)plan({}, 262'145), Error);
}

TEST(MachineRates, AreMeasuredBriefly) {
  const auto start = std::chrono::steady_clock::now();
  const MachineRates rates = measure_rates(1, "");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_GT(rates.flops, 1e8);
  EXPECT_GT(rates.weight_bytes, 1e7);
  EXPECT_GT(rates.activation_bytes, 1e7);
  EXPECT_EQ(rates.threads, 1);
  EXPECT_LT(taken.count(), 10);  // under a second on an idle machine
}

}  // namespace
}  // namespace sightline::audit
