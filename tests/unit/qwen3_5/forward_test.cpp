// Protects: the promises of VisionLanguageModel::forward on the small reference checkpoints, dense
// and mixture of experts: bits do not depend on how a prompt is cut (at multiples of 64), on
// threads, on company; step rows together equal step rows one by one; recorded steps commit.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "io/json.hpp"
#include "qwen3_5/model.hpp"

namespace sightline::qwen3_5 {
namespace {

using model::Cache;
using model::RowKind;
using model::Segment;

std::string checkpoint_name;  // of the running test

std::unique_ptr<model::VisionLanguageModel> load(std::optional<LayerRange> range = std::nullopt) {
  const std::string directory = std::string(SIGHTLINE_TEST_DATA) + "/models/" + checkpoint_name;
  const io::Json json = io::read_json_file(directory + "/config.json");
  return load_model(parse_config(json, "config.json"), io::Checkpoint::open(directory), range);
}

const model::VisionLanguageModel& whole_model() {
  static std::map<std::string, std::unique_ptr<model::VisionLanguageModel>> models;
  auto& model = models[checkpoint_name];
  if (!model) model = load();
  return *model;
}

class Forward : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { checkpoint_name = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(, Forward, ::testing::Values("dense", "moe"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<std::int32_t> some_ids(std::int64_t count, std::int32_t salt = 0) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>((i * 37 + salt * 11 + 5) % 480));
  return ids;
}

/// A kernel set and a precision: sets with tile registers compute otherwise in bf16.
struct Way {
  const char* set = "reference";
  nn::Precision precision = nn::Precision::f32;
};

// Runs pieces of one sequence; keeps the logits of the last row of every piece.
class Runner {
 public:
  explicit Runner(int threads = 1, Way way = {},
                  const model::VisionLanguageModel& model = whole_model())
      : model_(model), threads_(threads), pass_(kernels::select(way.set), threads_, arena_) {
    pass_.precision = way.precision;
  }

  std::vector<float> run(Cache& cache, const std::vector<std::int32_t>& ids, std::int64_t first,
                         std::int64_t rows, RowKind kind, model::StepRecord* record = nullptr) {
    std::vector<std::int64_t> wanted;
    for (std::int64_t r = kind == RowKind::step ? 0 : rows - 1; r < rows; ++r) wanted.push_back(r);
    const ArenaScope scope(arena_);
    const View embeds = embed(ids, first, rows);
    const nn::Positions positions = positions_of(first, rows);
    const Segment segment{&cache, 0, rows, &positions, 0, kind, wanted, record};
    std::vector<float> logits(wanted.size() * static_cast<std::size_t>(model_.info().vocab_size));
    model_.forward(
        pass_, embeds, {&segment, 1},
        {{logits.data(), static_cast<std::int64_t>(wanted.size()), model_.info().vocab_size}, {}});
    return logits;
  }
  View embed(const std::vector<std::int32_t>& ids, std::int64_t first, std::int64_t rows) {
    const View embeds = arena_.matrix(rows, model_.info().hidden_size);
    model_.embed(
        pass_,
        std::span(ids).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
        embeds);
    return embeds;
  }
  static nn::Positions positions_of(std::int64_t first, std::int64_t rows) {
    nn::Positions positions;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto p = static_cast<std::int32_t>(first + i);
      positions.push(p, p, p);
    }
    return positions;
  }
  nn::Pass& pass() { return pass_; }

 private:
  const model::VisionLanguageModel& model_;
  Threads threads_;
  Arena arena_;
  nn::Pass pass_;
};

std::vector<Way> available_ways() {
  std::vector<Way> ways;
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    if (!set.available) continue;
    if (!set.twin) ways.push_back({set.name.data()});
    if (set.twin || set.name == "amx") ways.push_back({set.name.data(), nn::Precision::bf16});
  }
  return ways;
}

std::vector<float> prompt_logits(Runner& runner, Cache& cache, const std::vector<std::int32_t>& ids,
                                 std::int64_t piece) {
  std::vector<float> logits;
  const auto total = static_cast<std::int64_t>(ids.size());
  for (std::int64_t first = 0; first < total; first += piece) {
    logits = runner.run(cache, ids, first, std::min(piece, total - first), RowKind::prompt);
  }
  return logits;
}

// Bit-exactness: pieces that end at multiples of 64, and the number of threads.
TEST_P(Forward, PiecesAndThreadsChangeNoBit) {
  const auto ids = some_ids(200);
  for (const Way& way : available_ways()) {
    Runner one(1, way);
    Cache cache = whole_model().new_cache(nn::Precision::f32);
    const auto expected = prompt_logits(one, cache, ids, 200);
    for (const std::int64_t piece : {64, 128, 192}) {
      for (const int threads : {1, 2, 3, 7}) {
        Runner other(threads, way);
        Cache fresh = whole_model().new_cache(nn::Precision::f32);
        EXPECT_EQ(prompt_logits(other, fresh, ids, piece), expected)
            << way.set << " piece " << piece << " threads " << threads;
      }
    }
  }
}

// Other pieces agree within the noise of float32.
TEST_P(Forward, PiecesOfAnyLengthAgree) {
  const auto ids = some_ids(100);
  Runner runner;
  Cache cache = whole_model().new_cache(nn::Precision::f32);
  const auto expected = prompt_logits(runner, cache, ids, 100);
  float largest = 0;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (const std::int64_t piece : {1, 7}) {
    Cache fresh = whole_model().new_cache(nn::Precision::f32);
    const auto found = prompt_logits(runner, fresh, ids, piece);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-4F * largest);
  }
}

// A copy of a cache is a snapshot: going on from it gives the bits of a cold run, and the original
// is untouched.
TEST_P(Forward, SnapshotsResumeBitForBit) {
  const auto ids = some_ids(150);
  Runner runner;
  Cache cold = whole_model().new_cache(nn::Precision::bf16);
  const auto expected = prompt_logits(runner, cold, ids, 150);
  Cache first = whole_model().new_cache(nn::Precision::bf16);
  runner.run(first, ids, 0, 64, RowKind::prompt);
  const Cache snapshot = first;
  runner.run(first, some_ids(150, 1), 64, 40,
             RowKind::prompt);  // something else, into the shared open block
  Cache again = snapshot;
  EXPECT_EQ(again.length, 64);
  EXPECT_EQ(runner.run(again, ids, 64, 86, RowKind::prompt), expected);
}

// k step rows in one forward give the bits of k forwards of one.
TEST_P(Forward, StepRowsTogetherEqualStepsOneByOne) {
  const auto ids = some_ids(80);
  for (const Way& way : available_ways()) {
    Runner runner(2, way);
    Cache together = whole_model().new_cache(nn::Precision::bf16);
    runner.run(together, ids, 0, 70, RowKind::prompt);
    Cache single = together;
    const auto all = runner.run(together, ids, 70, 5, RowKind::step);
    std::vector<float> joined;
    for (std::int64_t i = 0; i < 5; ++i) {
      const auto row = runner.run(single, ids, 70 + i, 1, RowKind::step);
      joined.insert(joined.end(), row.begin(), row.end());
    }
    EXPECT_EQ(all, joined) << way.set;
    EXPECT_EQ(together.length, 75);
  }
}

// Recorded steps leave the cache unchanged; committing the first few of them equals having run only
// those.
TEST_P(Forward, RecordedStepsCommitTheirFirstRows) {
  const auto ids = some_ids(90);
  Runner runner;
  Cache cache = whole_model().new_cache(nn::Precision::bf16);
  runner.run(cache, ids, 0, 62, RowKind::prompt);
  Cache expected = cache;
  model::StepRecord record;
  const auto proposed = runner.run(cache, ids, 62, 6, RowKind::step, &record);
  EXPECT_EQ(cache.length, 62);
  EXPECT_EQ(record.rows, 6);
  const auto plain = runner.run(expected, ids, 62, 4, RowKind::step);
  EXPECT_EQ(std::vector<float>(proposed.begin(),
                               proposed.begin() + static_cast<std::ptrdiff_t>(plain.size())),
            plain);
  whole_model().commit(runner.pass(), record, 4, cache);
  EXPECT_EQ(cache.length, 66);
  EXPECT_EQ(runner.run(cache, ids, 66, 1, RowKind::step),
            runner.run(expected, ids, 66, 1, RowKind::step));
}

// A segment's bits do not depend on the segments beside it (bug log K1).
TEST_P(Forward, SegmentsTogetherEqualSegmentsAlone) {
  const auto a = some_ids(70), b = some_ids(33, 3);
  for (const Way& way : available_ways()) {
    Runner runner(2, way);
    Cache alone_a = whole_model().new_cache(nn::Precision::bf16), alone_b = alone_a,
          a_cache = alone_a, b_cache = alone_a;
    const auto expected_a = prompt_logits(runner, alone_a, a, 70),
               expected_b = prompt_logits(runner, alone_b, b, 33);
    std::vector<std::int32_t> both = b;
    both.insert(both.end(), a.begin(), a.end());
    Arena arena;
    const View embeds = runner.embed(both, 0, 103);
    const nn::Positions pa = Runner::positions_of(0, 70), pb = Runner::positions_of(0, 33);
    const std::int64_t last_a = 69, last_b = 32;
    const std::array segments{
        Segment{&b_cache, 0, 33, &pb, 0, RowKind::prompt, {&last_b, 1}, nullptr},
        Segment{&a_cache, 33, 70, &pa, 0, RowKind::prompt, {&last_a, 1}, nullptr}};
    std::vector<float> logits(2 * expected_a.size());
    whole_model().forward(runner.pass(), embeds, segments,
                          {{logits.data(), 2, whole_model().info().vocab_size}, {}});
    EXPECT_EQ(std::vector<float>(logits.begin(), logits.begin() + 512), expected_b) << way.set;
    EXPECT_EQ(std::vector<float>(logits.begin() + 512, logits.end()), expected_a) << way.set;
  }
}

// Two models that each hold half of the layers, one after the other, give the bits of the whole.
TEST_P(Forward, LayerRangesChain) {
  const auto front = load(LayerRange{0, 2}), back = load(LayerRange{2, 4});
  const auto ids = some_ids(20);
  Runner runner;
  Cache cache = whole_model().new_cache(nn::Precision::f32);
  const auto expected = prompt_logits(runner, cache, ids, 20);
  Cache front_cache = front->new_cache(nn::Precision::f32),
        back_cache = back->new_cache(nn::Precision::f32);
  const View rows = runner.embed(ids, 0, 20);
  const nn::Positions positions = Runner::positions_of(0, 20);
  const std::int64_t last = 19;
  const Segment first{&front_cache, 0, 20, &positions, 0, RowKind::prompt, {}, nullptr};
  front->forward(runner.pass(), rows, {&first, 1}, {});
  const Segment second{&back_cache, 0, 20, &positions, 0, RowKind::prompt, {&last, 1}, nullptr};
  std::vector<float> logits(512);
  back->forward(runner.pass(), rows, {&second, 1}, {{logits.data(), 1, 512}, {}});
  EXPECT_EQ(logits, expected);
}

TEST_P(Forward, CancellationThrowsOnceAndNamesItself) {
  Runner runner;
  const std::atomic<bool> cancel{true};
  runner.pass().cancel = &cancel;
  Cache cache = whole_model().new_cache(nn::Precision::f32);
  try {
    runner.run(cache, some_ids(10), 0, 10, RowKind::prompt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

TEST_P(Forward, IdsOutsideTheVocabularyAreRefused) {
  Runner runner;
  for (const std::int32_t id : {-1, 512}) {
    try {
      runner.embed({id}, 0, 1);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_token_id);
    }
  }
}

}  // namespace
}  // namespace sightline::qwen3_5
