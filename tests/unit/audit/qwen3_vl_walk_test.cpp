// Protects: Qwen3-VL is walked from its configuration alone, prints as torch prints it, and shows
// its DeepStack lanes: a merger after some blocks, an addition after each of the first layers.
#include <gtest/gtest.h>

#include <algorithm>

#include "audit/module_tree.hpp"
#include "audit/walk.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"

namespace sightline::audit {
namespace {

const std::string kData = SIGHTLINE_TEST_DATA;

std::unique_ptr<model::VisionLanguageModel> declared(const std::string& name) {
  return generate::declare_model(io::read_json_file(kData + "/models/" + name + "/config.json"),
                                 name);
}

class Qwen3VlWalk : public ::testing::TestWithParam<const char*> {};

// tests/data/audit/NAME.txt: tools/reference/module_tree.py.
TEST_P(Qwen3VlWalk, TreePrintsAsTorchDoes) {
  const auto loaded = generate::load_model(kData + "/models/" + GetParam(), true);
  const std::string expected = io::read_file(kData + "/audit/" + GetParam() + ".txt");
  EXPECT_EQ(torch_text(module_tree(loaded->info().report)), expected);
  EXPECT_EQ(torch_text(module_tree(declared(GetParam())->info().report)), expected);
}

TEST_P(Qwen3VlWalk, DeclaredEqualsLoaded) {
  const auto loaded = generate::load_model(kData + "/models/" + GetParam(), true);
  const auto model = declared(GetParam());
  EXPECT_TRUE(alike(module_tree(model->info().report), module_tree(loaded->info().report)));
}

TEST_P(Qwen3VlWalk, ShowsTheDeepstackLanes) {
  const auto model = declared(GetParam());
  const std::int64_t lanes = model->info().deepstack_layers;
  ASSERT_GE(lanes, 2);
  const Walk walk = walk_whole(*model, {{{1, 8, 8}}, {{2, 4, 4}}, 16}, nn::Precision::bf16);
  EXPECT_EQ(walk.visual_tokens, 16 + 8);
  std::vector<std::string> order;
  for (const Event& event : walk.events) {
    if (event.operation) {
      EXPECT_EQ(channel_of(event), Channel::merge);
      ASSERT_EQ(event.inputs.size(), 2U);
      if (event.class_name != "_deepstack_process") continue;
      EXPECT_EQ(event.inputs[1].name, "visual_embeds");
      EXPECT_EQ(event.inputs[1].shape, (Shape{24, model->info().hidden_size}));
      order.emplace_back("add");
    } else if (event.class_name.ends_with("TextDecoderLayer")) {
      order.push_back(event.path.substr(event.path.rfind('.') + 1));
    }
  }
  std::vector<std::string> expected;
  for (std::int64_t i = 0; i < model->info().layers; ++i) {
    expected.push_back(std::to_string(i));
    if (i < lanes) expected.emplace_back("add");
  }
  EXPECT_EQ(order, expected);
  const auto mergers =
      std::count_if(walk.events.begin(), walk.events.end(), [](const Event& event) {
        return event.class_name.ends_with("VisionPatchMerger") &&
               event.path.find("deepstack_merger_list") != std::string::npos;
      });
  EXPECT_EQ(mergers, 2 * lanes);  // one call of the tower for pictures, one for clips
}

// Work does not depend on how the prompt is cut.
TEST_P(Qwen3VlWalk, CountsTheSameWorkInAnyPieces) {
  const auto model = declared(GetParam());
  const PromptShape prompt{{{1, 8, 8}}, {}, 16};
  const Runner runner{kernels::select("reference")};
  const RunCost one = count_run(*model, prompt, runner, 1024),
                many = count_run(*model, prompt, runner, 8);
  EXPECT_GT(one.encode.flops, 0);
  EXPECT_EQ(one.encode.flops, many.encode.flops);
  EXPECT_EQ(one.cache_bytes, many.cache_bytes);
  EXPECT_GE(many.prefill.weight_bytes, one.prefill.weight_bytes);
}

INSTANTIATE_TEST_SUITE_P(, Qwen3VlWalk, ::testing::Values("qwen3vl", "qwen3vl-moe"),
                         [](const auto& info) {
                           return std::string(info.param) == "qwen3vl" ? "dense" : "moe";
                         });

}  // namespace
}  // namespace sightline::audit
