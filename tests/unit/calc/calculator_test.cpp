// The calculator over many inputs: sizes of the reference by fingerprint, rules that hold for every
// answer, and inputs that make no sense. Protects: the whole range of inputs between the goldens.
#include "calc/calculator.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "io/json.hpp"

namespace sightline::calc {
namespace {

/// The generator of tools/reference/size_sweep.py.
class Numbers {
 public:
  explicit Numbers(std::uint64_t state) : state_(state) {}
  std::int64_t below(std::int64_t limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(limit));
  }
  std::int64_t side() {
    const std::int64_t bits = 1 + below(20);
    return 1 + below(std::int64_t{1} << bits);
  }
  std::int64_t pixels(std::int64_t least, std::int64_t most) {
    const std::int64_t bits = least + below(most - least);
    return (std::int64_t{1} << bits) + below(5000);
  }

 private:
  std::uint64_t state_;
};

TargetSize image_size(Numbers& numbers) {
  const std::int64_t height = numbers.side(), width = numbers.side();
  const std::int64_t low = numbers.pixels(0, 18), high = numbers.pixels(10, 26);
  return image_target_size(height, width, {kQwenFactor, low, high});
}

TargetSize clip_size(Numbers& numbers) {
  const std::int64_t frames = 1 + numbers.below(800);
  const std::int64_t height = numbers.side(), width = numbers.side();
  const std::int64_t low = numbers.pixels(0, 18), high = numbers.pixels(12, 27);
  return video_target_size(frames, height, width, {{kQwenFactor, low, high}, 2, false});
}

TargetSize pooled_size(Numbers& numbers) {
  const std::int64_t height = numbers.side(), width = numbers.side();
  const auto budget = static_cast<std::size_t>(numbers.below(kSoftTokenBudgets.size()));
  return pooled_target_size(height, width, {kUnit, kGemmaPool, kSoftTokenBudgets.at(budget)});
}

void check_sweep(const char* name, TargetSize (*size_of)(Numbers&)) {
  const io::Json file = io::read_json_file(SIGHTLINE_TEST_DATA "/calc/sweep.json");
  const io::Json& expected = *file.find(name);
  Numbers numbers(static_cast<std::uint64_t>(expected.find("seed")->as_int()));
  std::uint64_t digest = 0xCBF29CE484222325ULL;
  std::int64_t errors = 0;
  for (std::int64_t i = 0; i < expected.find("cases")->as_int(); ++i) {
    const TargetSize size = size_of(numbers);
    const bool ok = size.status == SizeStatus::ok;
    errors += ok ? 0 : 1;
    const std::string line =
        ok ? std::to_string(size.height) + " " + std::to_string(size.width) + "\n" : "error\n";
    for (const char c : line) {
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  EXPECT_EQ(errors, expected.find("errors")->as_int());
  EXPECT_EQ(text, expected.find("fnv1a")->as_string());
}

TEST(CalcSweep, PicturesAsTheReference) { check_sweep("image", image_size); }
TEST(CalcSweep, ClipsAsTheReference) { check_sweep("clip", clip_size); }
TEST(CalcSweep, PooledAsTheReference) { check_sweep("pooled", pooled_size); }

TEST(CalcSweep, HalvesGoToTheEvenMultiple) {
  // Of the sides 1 to 4096, 64 lie halfway between multiples of 32 with an even one below.
  int different = 0;
  for (std::int64_t side = 1; side <= 4096; ++side) {
    const double multiple = round_half_even(static_cast<double>(side) / kQwenFactor);
    const std::int64_t half_up = (side + kQwenFactor / 2) / kQwenFactor;
    if (multiple == static_cast<double>(half_up)) continue;
    ++different;
    EXPECT_EQ(multiple, static_cast<double>(half_up - 1));
    EXPECT_EQ(side % 64, 16);
  }
  EXPECT_EQ(different, 64);
}

/// What holds for every answer.
void check_answer(const Request& q, const Result& r) {
  const bool qwen = r.model->is_qwen();
  const std::int64_t factor = qwen ? kQwenFactor : kGemmaFactor;
  ASSERT_GE(r.resized_height, factor);
  ASSERT_GE(r.resized_width, factor);
  EXPECT_EQ(r.resized_height % factor, 0);
  EXPECT_EQ(r.resized_width % factor, 0);
  const std::int64_t blocks = (r.resized_height / factor) * (r.resized_width / factor);
  EXPECT_EQ(r.visual_tokens, blocks * r.temporal_groups);
  EXPECT_EQ(r.processor_units, r.visual_tokens * (qwen ? 4 : 9));
  EXPECT_EQ(r.model_patch_positions, r.grid_rows * r.grid_cols * r.temporal_groups);
  EXPECT_EQ(r.scalars, r.visual_tokens * r.model->language_width);
  EXPECT_EQ(r.repeated_frames, qwen ? r.temporal_groups * 2 - r.frames : 0);
  EXPECT_GT(r.prompt_tokens, r.visual_tokens);
  EXPECT_GT(r.pixels_per_token, 0);
  const std::int64_t area = r.resized_height * r.resized_width;
  switch (r.branch) {
    case Branch::given:
      EXPECT_EQ(area, q.height * q.width);
      break;
    case Branch::rounded:
      EXPECT_LE(std::abs(r.resized_height - q.height), r.enlarged_first ? kMaxSide : factor / 2);
      if (r.mode == Mode::image) {
        EXPECT_LE(area, r.budget);
      }
      break;
    case Branch::shrunk:
      if (r.mode == Mode::image && r.resized_height > factor && r.resized_width > factor) {
        EXPECT_LE(area, r.budget);
      }
      break;
    case Branch::grown:
      EXPECT_GE(area, q.min_pixels.value_or(0) / (2 * r.temporal_groups));
      break;
    case Branch::fitted:
    case Branch::strip:
      EXPECT_LE(blocks, r.budget);
      break;
  }
  EXPECT_GE(r.padding_slots.value_or(0), 0);
}

std::int64_t odd_number(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return static_cast<std::int64_t>(random());
    case 1:
      return -static_cast<std::int64_t>(random() % 100);
    case 2:
      return 0;
    default:
      return static_cast<std::int64_t>(random() % (1ULL << (1 + random() % 21)));
  }
}

Request random_request(std::mt19937_64& random) {
  Request q;
  q.model = models()[random() % models().size()].id;
  if (random() % 50 == 0) q.model = "no-such-model";
  q.mode = static_cast<Mode>(random() % 3);
  q.height = odd_number(random);
  q.width = odd_number(random);
  if (q.mode == Mode::video_prepared && random() % 4 != 0) {
    q.height = (1 + static_cast<std::int64_t>(random() % 300)) * 96;
    q.width = (1 + static_cast<std::int64_t>(random() % 300)) * 96;
  }
  const auto sometimes = [&](std::optional<std::int64_t>& value, std::uint64_t one_in) {
    if (random() % one_in == 0) value = odd_number(random);
  };
  if (q.mode != Mode::image) sometimes(q.frames, 2);
  sometimes(q.budget_tokens, 8);
  sometimes(q.min_pixels, 8);
  sometimes(q.max_pixels, 8);
  if (random() % 8 == 0) q.soft_token_budget = kSoftTokenBudgets.at(random() % 5);
  if (random() % 64 == 0) sometimes(q.soft_token_budget, 1);
  q.cap_pixels_per_frame = q.mode == Mode::video && random() % 4 == 0;
  return q;
}

TEST(CalcProperties, EveryInputHasAnAnswerOrAReason) {
  std::mt19937_64 random(5);
  int answered = 0;
  std::set<ErrorCode> reasons;
  for (int i = 0; i < 200000; ++i) {
    const Request q = random_request(random);
    const Result r = calculate(q);
    if (!r.problem.ok()) {
      reasons.insert(r.problem.code);
      ASSERT_FALSE(r.problem.message.empty());
      ASSERT_LT(r.problem.message.view().size(), Text::kCapacity) << r.problem.message.view();
      ASSERT_NE(name_of(r.problem.code), "unknown");
      continue;
    }
    ++answered;
    ASSERT_NO_FATAL_FAILURE(check_answer(q, r));
    Request turned = q;
    std::swap(turned.height, turned.width);
    const Result other = calculate(turned);
    ASSERT_TRUE(other.problem.ok()) << other.problem.message.view();
    EXPECT_EQ(other.resized_height, r.resized_width);
    EXPECT_EQ(other.visual_tokens, r.visual_tokens);
    if (HasFailure()) {
      FAIL() << q.model << " " << name_of(q.mode) << " " << q.height << "x" << q.width;
    }
  }
  EXPECT_GT(answered, 20000);
  for (const ErrorCode code :
       {ErrorCode::unknown_model, ErrorCode::out_of_range, ErrorCode::not_for_model,
        ErrorCode::not_for_mode, ErrorCode::both_given, ErrorCode::bad_budget,
        ErrorCode::aspect_ratio, ErrorCode::too_few_frames, ErrorCode::no_frames,
        ErrorCode::prepared_sides}) {
    EXPECT_TRUE(reasons.contains(code)) << name_of(code);
  }
}

std::string message(const Request& request) {
  return std::string(calculate(request).problem.message.view());
}

TEST(CalcInput, IsCheckedTogether) {
  Request q;
  q.model = "gpt";
  EXPECT_TRUE(message(q).starts_with("model: expected one of qwen3.5-0.8b, qwen3.5-2b, "));
  EXPECT_TRUE(message(q).ends_with(", gemma-4-12b, found 'gpt'")) << message(q);
  q = {.model = "Qwen3.5-2B", .frames = 3};
  EXPECT_EQ(message(q), "frames: an image has one; use mode video");
  q = {.budget_tokens = 64, .max_pixels = 65536};
  EXPECT_EQ(message(q), "budget_tokens: stands for max_pixels");
  q = {.soft_token_budget = 70};
  EXPECT_EQ(message(q), "soft_token_budget: only Gemma has one; use budget_tokens or max_pixels");
  q = {.model = "gemma-4-31b", .max_pixels = 9};
  EXPECT_EQ(message(q), "max_pixels: only Qwen has it; use soft_token_budget");
  q = {.mode = Mode::video, .height = 1000000, .width = 1000000, .frames = 100000};
  EXPECT_EQ(message(q),
            "frames * height * width: expected an integer from 1 to 9007199254740992, found "
            "100000000000000000");
  q = {.mode = Mode::video, .frames = 100001};
  EXPECT_EQ(message(q), "frames: expected an integer from 1 to 100000, found 100001");
  q = {.mode = Mode::video_prepared, .max_pixels = 65536};
  EXPECT_EQ(calculate(q).problem.code, ErrorCode::not_for_mode);
}

TEST(CalcInput, LargestVolumesStayExact) {
  Request q{.model = "qwen3.5-27b", .mode = Mode::video_prepared, .height = 1 << 19};
  q.width = 1 << 19;
  q.frames = 32768;  // 2^53 pixels
  const Result r = calculate(q);
  ASSERT_TRUE(r.problem.ok()) << r.problem.message.view();
  EXPECT_EQ(r.visual_tokens, std::int64_t{1} << (53 - 1 - 10));
  EXPECT_EQ(r.scalars, r.visual_tokens * 5120);
}

TEST(CalcRows, BeyondTheGoldens) {
  Result r = calculate({.height = 1080, .width = 1920});
  EXPECT_EQ(r.position_span, 60);
  EXPECT_EQ(r.prompt_tokens, 2042);
  EXPECT_EQ(r.branch, Branch::rounded);
  EXPECT_DOUBLE_EQ(r.budget_share, 2040.0 / 16384);
  r = calculate({.mode = Mode::video, .height = 16, .width = 16, .frames = 3});
  EXPECT_TRUE(r.enlarged_first);
  EXPECT_EQ(r.prompt_tokens, 2 + 2 * 2 + 2);
  r = calculate({.height = 64, .width = 64, .budget_tokens = 16});
  EXPECT_TRUE(r.budget_below_minimum);
  EXPECT_EQ(r.budget_share, 4);
  EXPECT_EQ(calculate({.model = "gemma-4-e2b", .height = 1, .width = 1000}).branch, Branch::strip);
}

}  // namespace
}  // namespace sightline::calc
