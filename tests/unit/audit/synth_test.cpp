// Protects: made-up checkpoints have the same bytes wherever and however often they are written,
// load, give finite values, and appear whole or not at all.
#include "audit/synth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "audit/checkpoint_report.hpp"
#include "audit/module_tree.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "kernels/kernels.hpp"
#include "model/positions.hpp"
#include "sightline/error.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::audit {
namespace {

namespace fs = std::filesystem;

class Synth : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  /// The configuration of the small dense reference checkpoint, with mtp.* tensors.
  static Subject subject() {
    Subject small =
        subject_of_config(std::string(SIGHTLINE_TEST_DATA) + "/models/dense/config.json");
    for (auto& [key, value] : small.config.as_object()) {
      if (key == "text_config") value.add("mtp_num_hidden_layers", 1);
    }
    return small;
  }
  static void no_progress(std::int64_t, std::int64_t) {}

  TemporaryFolder folder_;
};

// Values computed apart from this code, by the description in random_values.hpp.
TEST(RandomValues, AreThoseOfTheDescription) {
  EXPECT_EQ(random_key(0, "a"), 0x2c0bdbf481420f8U);
  const Distribution plain{Distribution::Kind::normal, 0, 1};
  const float first = random_value(plain, random_key(0, "a"), 0);
  const float second = random_value(plain, random_key(0, "a"), 1);
  EXPECT_FLOAT_EQ(first, -1.41503499F);
  EXPECT_FLOAT_EQ(second, 0.788482729F);
  EXPECT_FLOAT_EQ(random_value({Distribution::Kind::uniform, 0, 1}, random_key(7, "b.c"), 5),
                  0.319504142F);
}

TEST(RandomValues, HaveTheMeanAndTheDeviationAskedFor) {
  constexpr std::int64_t kCount = 100'000;
  const Distribution wanted{Distribution::Kind::normal, 2, 0.5F};
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double value = random_value(wanted, random_key(1, "w"), i);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 2, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 0.5, 0.01);
}

TEST_F(Synth, SameSeedSameBytesAnotherSeedOthers) {
  write_synth(subject(), path("a"), {}, no_progress);
  write_synth(subject(), path("b"), {}, no_progress);
  SynthOptions other;
  other.seed = 1;
  write_synth(subject(), path("c"), other, no_progress);
  const auto weights = [&](const char* name) {
    return io::read_file(path(name) + "/model.safetensors");
  };
  EXPECT_EQ(weights("a"), weights("b"));
  EXPECT_NE(weights("a"), weights("c"));
}

TEST_F(Synth, ShardsHoldWhatOneFileHolds) {
  write_synth(subject(), path("one"), {}, no_progress);
  SynthOptions small;
  small.shard_bytes = 100'000;
  const SynthResult result = write_synth(subject(), path("many"), small, no_progress);
  EXPECT_TRUE(io::is_file(path("many") + "/model.safetensors.index.json"));
  const auto one = io::Checkpoint::open(path("one")), many = io::Checkpoint::open(path("many"));
  EXPECT_GT(many->shards().size(), 3U);
  ASSERT_EQ(one->names(), many->names());
  EXPECT_EQ(static_cast<std::int64_t>(one->names().size()), result.tensors);
  for (const std::string_view name : one->names()) {
    const io::StoredTensor a = *one->find(name), b = *many->find(name);
    ASSERT_EQ(a.bytes, b.bytes) << name;
    EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes)), 0) << name;
    EXPECT_EQ(a.dtype, io::published_as_float32(name) ? DType::f32 : DType::bf16) << name;
  }
}

TEST_F(Synth, LoadsWithNothingOddAndGivesFiniteLogits) {
  write_synth(subject(), path("a"), {}, no_progress);
  const auto stored = io::Checkpoint::open(path("a"));
  const auto model = generate::load_model(path("a"), true);
  EXPECT_EQ(model->info().report.ignored_mtp, 15);
  const CheckpointReport report =
      report_checkpoint(subject_of_directory(path("a")), *model, stored.get());
  EXPECT_TRUE(report.findings.empty());
  EXPECT_TRUE(report.mtp_missing.empty());
  EXPECT_TRUE(report.mtp_other.empty());
  EXPECT_TRUE(check_values(*stored, no_progress).empty());

  Threads threads(1);
  Arena arena;
  nn::Pass pass(kernels::select("reference"), threads, arena);
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7, 8};
  nn::Positions positions;
  model::append_positions(model::token_types(ids, -1, -1), {}, {}, 2, 0, positions);
  const auto n = static_cast<std::int64_t>(ids.size());
  std::vector<float> logits(ids.size() * static_cast<std::size_t>(model->info().vocab_size));
  model::Cache cache = model->new_cache(pass.precision);
  model->whole(pass, {ids, {}, {}, &positions}, cache,
               {logits.data(), n, model->info().vocab_size});
  double squares = 0;
  for (const float value : logits) {
    ASSERT_TRUE(std::isfinite(value));
    squares += static_cast<double>(value) * value;
  }
  EXPECT_GT(squares / static_cast<double>(logits.size()), 1e-3);
}

TEST_F(Synth, GivenUpLeavesNothing) {
  EXPECT_THROW(write_synth(subject(), path("a"), {},
                           [](std::int64_t, std::int64_t) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Synth, KeepsWhatIsThere) {
  fs::create_directories(path("a"));
  io::write_file(path("a") + "/notes.txt", "mine");
  try {
    write_synth(subject(), path("a"), {}, no_progress);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::file_unwritable);
  }
  EXPECT_EQ(io::read_file(path("a") + "/notes.txt"), "mine");
}

TEST_F(Synth, CutsLayersAndBlocks) {
  Subject cut = subject();
  cut.config = cut_config(cut.config, 1, "config.json");
  const auto model = cut.declare();
  EXPECT_EQ(model->info().layers, 1);
  const ModuleNode tree = module_tree(model->info().report);
  EXPECT_NE(tree.find("model.visual.blocks.0"), nullptr);
  EXPECT_EQ(tree.find("model.visual.blocks.1"), nullptr);
  EXPECT_THROW(cut_config(cut.config, 2, "config.json"), Error);
}

}  // namespace
}  // namespace sightline::audit
