// Protects: the promises of VisionLanguageModel on Qwen3-VL, dense and mixture of experts: bits do
// not depend on how a prompt is cut (also inside a picture, whose DeepStack features must follow
// the cut), on threads, on company; recorded steps commit; layer ranges chain.
#include <array>

#include "unit/qwen3_vl/runner.hpp"

namespace sightline::qwen3_vl {
namespace {

using model::Cache;
using model::RowKind;
using model::Segment;

class Forward : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] const model::VisionLanguageModel& model() const { return loaded(GetParam()); }
  // 20 + 24 + 20 + 12 + 20 rows: pieces of 7, 30 and 64 end inside of the pictures.
  [[nodiscard]] TestPrompt prompt() const {
    return {model().info(), {TestPicture({1, 8, 12}, 1), TestPicture({1, 6, 8}, 2)}, 20};
  }
};

/// Sets with tile registers compute otherwise in bf16.
std::vector<std::pair<const char*, nn::Precision>> available_ways() {
  std::vector<std::pair<const char*, nn::Precision>> ways{{"amx-twin", nn::Precision::bf16}};
  for (const char* set : available_sets()) {
    ways.emplace_back(set, nn::Precision::f32);
    if (std::string_view(set) == "amx") ways.emplace_back(set, nn::Precision::bf16);
  }
  return ways;
}

TEST_P(Forward, PiecesAndThreadsChangeNoBit) {
  const TestPrompt input = prompt();
  ASSERT_EQ(input.tokens(), 96);
  for (const auto& [set, precision] : available_ways()) {
    Runner one(model(), 1, set, precision);
    const auto features = one.encode(input);
    const auto expected = one.prompt_logits(input, features, input.tokens());
    for (const std::int64_t piece : {1, 7, 30, 64}) {
      for (const int threads : {1, 2, 3, 7}) {
        Runner other(model(), threads, set, precision);
        EXPECT_EQ(other.encode(input), features) << set << " threads " << threads;
        EXPECT_EQ(other.prompt_logits(input, features, piece), expected)
            << set << " piece " << piece << " threads " << threads;
      }
    }
  }
}

// Every part of a feature row matters: what replaces the embedding and each DeepStack layer's.
TEST_P(Forward, EveryColumnOfAFeatureIsUsed) {
  const TestPrompt input = prompt();
  Runner runner(model());
  const auto features = runner.encode(input);
  const auto expected = runner.prompt_logits(input, features, 7);
  const std::int64_t hidden = model().info().hidden_size, width = model().info().feature_width();
  EXPECT_EQ(width, hidden * (1 + model().info().deepstack_layers));
  ASSERT_GE(model().info().deepstack_layers, 2);
  for (std::int64_t part = 0; part * hidden < width; ++part) {
    auto changed = features;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (static_cast<std::int64_t>(i) % width / hidden == part) changed[i] = 0;
    }
    EXPECT_GT(relative_error(runner.prompt_logits(input, changed, 7), expected), 1e-3F)
        << "part " << part;
  }
}

// A picture's features are the same bits alone and among others, through encode and in one call of
// the tower.
TEST_P(Forward, PicturesTogetherEqualPicturesAlone) {
  const TestPrompt input = prompt();
  Runner runner(model(), 2);
  const auto alone = runner.encode(input);
  const std::array both{input.pictures[0].input(), input.pictures[1].input()};
  std::vector<float> together(alone.size());
  runner.model_encode(both, together);
  EXPECT_EQ(together, alone);
}

// The run with transformers' calls gives the bits of the separate ones.
TEST_P(Forward, WholeEqualsPieces) {
  const TestPrompt input = prompt();
  Runner runner(model());
  const auto expected = runner.prompt_logits(input, runner.encode(input), 7);
  const std::array images{input.pictures[0].input(), input.pictures[1].input()};
  Cache cache = model().new_cache(nn::Precision::f32);
  const View logits = runner.arena().matrix(input.tokens(), model().info().vocab_size);
  model().whole(runner.pass(), {input.ids, images, {}, &input.positions}, cache, logits);
  const float* last = logits.row(logits.rows - 1);
  EXPECT_EQ(std::vector<float>(last, last + logits.cols), expected);
  EXPECT_EQ(cache.length, input.tokens());
}

// A copy of a cache is a snapshot, also one made in the middle of a picture.
TEST_P(Forward, SnapshotsResumeBitForBit) {
  const TestPrompt input = prompt();
  Runner runner(model());
  const auto features = runner.encode(input);
  const auto expected = runner.prompt_logits(input, features, 96, nn::Precision::bf16);
  Cache first = model().new_cache(nn::Precision::bf16);
  runner.run(first, input, features, 0, 30);
  const Cache snapshot = first;
  runner.run(first, input, std::vector<float>(features.size(), 0.5F), 30, 20);
  Cache again = snapshot;
  EXPECT_EQ(again.length, 30);
  EXPECT_EQ(runner.run(again, input, features, 30, 66), expected);
}

// Recorded steps leave the cache unchanged; committing the first few of them equals having run only
// those.
TEST_P(Forward, RecordedStepsCommitTheirFirstRows) {
  const TestPrompt input = prompt();
  Runner runner(model());
  const auto features = runner.encode(input);
  Cache cache = model().new_cache(nn::Precision::bf16);
  runner.run(cache, input, features, 0, 78);
  Cache expected = cache;
  model::StepRecord record;
  const auto proposed = runner.run(cache, input, features, 78, 6, RowKind::step, &record);
  EXPECT_EQ(cache.length, 78);
  const auto plain = runner.run(expected, input, features, 78, 4, RowKind::step);
  EXPECT_EQ(std::vector<float>(proposed.begin(),
                               proposed.begin() + static_cast<std::ptrdiff_t>(plain.size())),
            plain);
  model().commit(runner.pass(), record, 4, cache);
  EXPECT_EQ(cache.length, 82);
  EXPECT_EQ(runner.run(cache, input, features, 82, 1, RowKind::step),
            runner.run(expected, input, features, 82, 1, RowKind::step));
}

// A segment's bits do not depend on the segments beside it: with experts, its rows then share the
// products of both.
TEST_P(Forward, SegmentsTogetherEqualSegmentsAlone) {
  const TestPrompt a = prompt(), b{model().info(), {TestPicture({1, 4, 4}, 3)}, 9};
  Runner runner(model(), 2);
  const auto features_a = runner.encode(a), features_b = runner.encode(b);
  const auto expected_a = runner.prompt_logits(a, features_a, 96),
             expected_b = runner.prompt_logits(b, features_b, 22);
  const model::ModelInfo& info = model().info();
  Cache cache_a = model().new_cache(nn::Precision::f32), cache_b = cache_a;
  const auto runs = [&](const TestPrompt& prompt, const std::vector<float>& features) {
    const std::int64_t width = info.feature_width();
    return model::feature_runs(
        prompt.ids, info.image_token_id,
        {features.data(), static_cast<std::int64_t>(features.size()) / width, width});
  };
  const auto runs_a = runs(a, features_a), runs_b = runs(b, features_b);
  const View embeds = runner.arena().matrix(96 + 22, info.hidden_size);
  const View rows_b = embeds.slice_rows(0, 22), rows_a = embeds.slice_rows(22, 96);
  model().embed(runner.pass(), b.ids, rows_b);
  model().embed(runner.pass(), a.ids, rows_a);
  model::place_features(runs_b, rows_b);
  model::place_features(runs_a, rows_a);
  const std::int64_t last_a = 95, last_b = 21;
  const std::array segments{
      Segment{&cache_b, 0, 22, &b.positions, 0, RowKind::prompt, {&last_b, 1}, nullptr, runs_b},
      Segment{&cache_a, 22, 96, &a.positions, 0, RowKind::prompt, {&last_a, 1}, nullptr, runs_a}};
  std::vector<float> logits(2 * expected_a.size());
  model().forward(runner.pass(), embeds, segments, {{logits.data(), 2, info.vocab_size}, {}});
  EXPECT_EQ(std::vector<float>(logits.begin(), logits.begin() + info.vocab_size), expected_b);
  EXPECT_EQ(std::vector<float>(logits.begin() + info.vocab_size, logits.end()), expected_a);
}

// Two models that each hold some of the layers, one after the other, give the bits of the whole:
// DeepStack counts layers from the model's first, not from the range's.
TEST_P(Forward, LayerRangesChain) {
  const std::int64_t layers = model().info().layers;
  const auto front = load_from(directory_of(GetParam()), LayerRange{0, 1}),
             back = load_from(directory_of(GetParam()), LayerRange{1, layers});
  const TestPrompt input = prompt();
  Runner runner(model());
  const auto features = runner.encode(input);
  const auto expected = runner.prompt_logits(input, features, 96);
  const model::ModelInfo& info = model().info();
  const std::int64_t width = info.feature_width(), last = 95;
  const auto runs = model::feature_runs(
      input.ids, info.image_token_id,
      {features.data(), static_cast<std::int64_t>(features.size()) / width, width});
  const View rows = runner.arena().matrix(96, info.hidden_size);
  model().embed(runner.pass(), input.ids, rows);
  model::place_features(runs, rows);
  Cache front_cache = front->new_cache(nn::Precision::f32),
        back_cache = back->new_cache(nn::Precision::f32);
  const Segment first{&front_cache, 0, 96, &input.positions, 0, RowKind::prompt, {}, nullptr, runs};
  front->forward(runner.pass(), rows, {&first, 1}, {});
  const Segment second{&back_cache, 0,       96,  &input.positions, 0, RowKind::prompt,
                       {&last, 1},  nullptr, runs};
  std::vector<float> logits(expected.size());
  back->forward(runner.pass(), rows, {&second, 1}, {{logits.data(), 1, info.vocab_size}, {}});
  EXPECT_EQ(logits, expected);
}

INSTANTIATE_TEST_SUITE_P(, Forward, ::testing::Values("qwen3vl", "qwen3vl-moe"),
                         [](const auto& info) {
                           return std::string(info.param) == "qwen3vl" ? "dense" : "moe";
                         });

}  // namespace
}  // namespace sightline::qwen3_vl
