// Protects: a capture of ours is the reference's, module by module; a single changed weight is
// found where it stands; watching a run changes no bit of it.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "audit/capture_diff.hpp"
#include "audit/events.hpp"
#include "generate/parity.hpp"
#include "trace/recorder.hpp"
#include "trace/sinks.hpp"
#include "trace/tee.hpp"
#include "traced_case.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::audit {
namespace {

namespace fs = std::filesystem;

constexpr double kBound = 1e-4;      // relative L2 of a module in float32 ...
constexpr double kNormBound = 3e-4;  // ... and of linear_attn.norm, as parity allows
constexpr std::size_t kLeastModules = 80;

std::string case_file(const std::string& name) {
  return model_directory("dense") + "/cases/" + name + ".safetensors";
}

/// Runs a case and writes what `sightline trace --save` writes.
void save(const std::string& directory, const std::string& name, const std::string& file) {
  TracedCase run(directory, case_file(name));
  trace::FileSink sink(file);
  sink.metadata("order", "calls");
  trace::Recorder recorder({}, sink);
  run.run(&recorder);
  sink.finish();
}

TEST(Capture, OfTheImageCaseEqualsTheReference) {
  const TemporaryFolder folder;
  const std::string file = folder.path("ours.safetensors");
  save(model_directory("dense"), "image", file);
  const CaptureDiff diff = diff_captures(file, case_file("image"), kNormBound);
  EXPECT_TRUE(diff.ok());
  std::size_t compared = 0;
  for (const trace::CaptureLine& line : diff.comparison.lines) {
    if (line.state == trace::CaptureLine::State::not_in_ours) {
      // Intermediate forms of the reference that ours need not have.
      EXPECT_TRUE(line.key.ends_with("pos_embed") || line.key.ends_with("rotary_emb")) << line.key;
      continue;
    }
    if (line.state == trace::CaptureLine::State::not_in_reference) continue;
    ++compared;
    const double bound = line.key.ends_with("linear_attn.norm") ? kNormBound : kBound;
    EXPECT_LE(line.comparison.relative_l2, bound) << line.key;
  }
  EXPECT_GT(compared, kLeastModules);
  EXPECT_EQ(diff.compared(), static_cast<std::int64_t>(compared));
}

/// A copy of a checkpoint with one BF16 weight set to 2.0.
void copy_with_change(const std::string& from, const std::string& to, const std::string& tensor) {
  fs::copy(from, to, fs::copy_options::recursive);
  const std::string file = to + "/model.safetensors";
  std::int64_t begin = -1;
  {
    const io::SafetensorsFile weights(file);
    for (const io::TensorEntry& entry : weights.entries()) {
      if (entry.name != tensor) continue;
      ASSERT_EQ(entry.dtype, DType::bf16);
      begin = entry.begin;
    }
  }
  ASSERT_GE(begin, 0) << tensor;
  fs::permissions(file, fs::perms::owner_all);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(begin);
  bytes.write("\x00\x40", 2);  // bfloat16 2.0
  ASSERT_TRUE(bytes.good());
}

class ChangedWeight : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(ChangedWeight, IsTheFirstDivergence) {
  const auto [tensor, module] = GetParam();
  const TemporaryFolder folder;
  const std::string changed = folder.path("model"), a = folder.path("a.safetensors");
  copy_with_change(model_directory("dense"), changed, tensor);
  save(changed, "image", a);
  // Against ours, to the bit; and against the reference, which is not stored in call order.
  const std::string b = folder.path("b.safetensors");
  save(model_directory("dense"), "image", b);
  const CaptureDiff exact = diff_captures(a, b, 0);
  ASSERT_FALSE(exact.ok());
  EXPECT_EQ(exact.comparison.lines[*exact.comparison.first_divergence].key, module);
  const CaptureDiff against = diff_captures(case_file("image"), a, kNormBound);
  ASSERT_FALSE(against.ok());
  EXPECT_EQ(against.comparison.lines[*against.comparison.first_divergence].key, module);
  EXPECT_EQ(*diff_json(against).find("first_divergence"), io::Json(module));
}

INSTANTIATE_TEST_SUITE_P(
    Places, ChangedWeight,
    ::testing::Values(
        std::pair{"model.language_model.layers.1.mlp.up_proj.weight",
                  "model.language_model.layers.1.mlp.up_proj"},
        std::pair{"model.visual.blocks.0.attn.proj.weight", "model.visual.blocks.0.attn.proj"},
        std::pair{"model.visual.merger.linear_fc1.weight", "model.visual.merger.linear_fc1"}));

TEST(Capture, OrderOfTheReferenceIsWorkedOut) {
  const CaptureDiff diff = diff_captures(case_file("image"), case_file("image"), 0);
  EXPECT_TRUE(diff.ok());
  const auto place = [&](const std::string& key) {
    for (std::size_t i = 0; i < diff.comparison.lines.size(); ++i) {
      if (diff.comparison.lines[i].key == key) return i;
    }
    ADD_FAILURE() << key;
    return std::size_t{0};
  };
  const std::vector<std::string> expected{"model.language_model.embed_tokens",
                                          "model.visual.patch_embed",
                                          "model.visual.blocks.0.norm1",
                                          "model.visual.blocks.0",
                                          "model.visual.blocks.1",
                                          "model.visual.merger",
                                          "model.visual",
                                          "model.language_model.layers.0.input_layernorm",
                                          "model.language_model.layers.0",
                                          "model.language_model.layers.1",
                                          "model.language_model.norm",
                                          "model.language_model",
                                          "model",
                                          "lm_head"};
  for (std::size_t i = 1; i < expected.size(); ++i)
    EXPECT_LT(place(expected[i - 1]), place(expected[i])) << expected[i];
}

TEST(Capture, FilesWithoutCommonKeysAreRefused) {
  try {
    diff_captures(case_file("image"), model_directory("dense") + "/model.safetensors", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_case);
    EXPECT_NE(std::string(error.what()).find("keys in common"), std::string::npos) << error.what();
  }
}

TEST(Watching, ChangesNoBit) {
  for (const char* name : {"image", "two-images", "text"}) {
    TracedCase run(model_directory("dense"), case_file(name));
    const std::vector<float> plain = run.run(nullptr);
    trace::MemorySink sink(std::int64_t{1} << 30);
    trace::Recorder recorder({{}, true, true, true}, sink);
    EventRecorder events({true, nullptr, {}, &recorder, true});
    const std::vector<float> watched = run.run(&events);
    ASSERT_EQ(plain.size(), watched.size());
    EXPECT_EQ(std::memcmp(plain.data(), watched.data(), plain.size() * sizeof(float)), 0) << name;
    // As the engine runs it without a trace: in pieces, without the final norm where nobody looks.
    const model::ModelInfo& info = run.model->info();
    const auto n = static_cast<std::int64_t>(run.reference.ids.size());
    std::vector<float> pieces(plain.size());
    model::Cache cache = run.model->new_cache(run.pass.precision);
    generate::ParityOptions how;
    how.piece = 64;
    generate::prompt_in_pieces(*run.model, run.pass, run.reference, how, run.positions, cache,
                               {pieces.data(), n, info.vocab_size});
    EXPECT_EQ(std::memcmp(pieces.data(), watched.data(), pieces.size() * sizeof(float)), 0) << name;
  }
}

}  // namespace
}  // namespace sightline::audit
