// Protects: a model is walked from its configuration alone, by the code that runs it, and its
// parameters, calls and shapes are those published for the family.
#include <gtest/gtest.h>

#include <chrono>

#include "audit/family.hpp"
#include "audit/module_tree.hpp"
#include "audit/walk.hpp"
#include "generate/load_model.hpp"

namespace sightline::audit {
namespace {

std::unique_ptr<model::VisionLanguageModel> declared(std::string_view name) {
  const FamilyMember* member = find_member(name);
  return generate::declare_model(published_config(*member), std::string(name));
}

struct Parameters {
  const char* name;
  std::int64_t vision, language, head;  // head 0: tied
};

class Family : public ::testing::TestWithParam<Parameters> {};

// Specification 1.4; the counts marked there as published.
TEST_P(Family, ParametersAreThePublishedOnes) {
  const auto model = declared(GetParam().name);
  const ModuleNode tree = module_tree(model->info().report);
  EXPECT_EQ(tree.find("model.visual")->parameters(), GetParam().vision);
  EXPECT_EQ(tree.find("model.language_model")->parameters(), GetParam().language);
  EXPECT_EQ(tree.find("lm_head")->parameters(), GetParam().head);
}

INSTANTIATE_TEST_SUITE_P(
    Published, Family,
    ::testing::Values(Parameters{"qwen3.5-0.8b", 100'592'896, 752'393'024, 0},
                      Parameters{"qwen3.5-2b", 331'416'576, 1'881'825'088, 0},
                      Parameters{"qwen3.5-4b", 333'514'240, 4'205'751'296, 0},
                      Parameters{"qwen3.5-9b", 456'010'480, 7'936'684'544, 1'017'118'720},
                      Parameters{"qwen3.5-27b", 460'730'096, 25'624'600'064, 1'271'398'400}));

void append_shapes(const std::vector<EventTensor>& tensors, std::string& line) {
  for (const EventTensor& tensor : tensors) {
    line += " (";
    for (int i = 0; i < tensor.shape.rank(); ++i) {
      if (i > 0) line += ",";
      line += std::to_string(tensor.shape[i]);
    }
    line += ")";
  }
}

std::string line_of(const Event& event) {
  std::string line = event.operation ? "op" : event.path;
  append_shapes(event.inputs, line);
  line += " ->";
  append_shapes(event.outputs, line);
  return line;
}

TEST(Walk, CallsAndShapesOfTheTwoBillionModel) {
  const auto start = std::chrono::steady_clock::now();
  const auto model = declared("qwen3.5-2b");
  const Walk walk = walk_whole(*model, {{{1, 16, 16}}, {}, 16}, nn::Precision::bf16);
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
  EXPECT_LT(seconds.count(), 2);
  EXPECT_EQ(walk.prompt_tokens, 80);
  EXPECT_EQ(walk.visual_tokens, 64);
  std::vector<std::string> lines;
  for (const Event& event : walk.events) {
    if (event.depth <= 2 && !event.inputs.empty()) lines.push_back(line_of(event));
  }
  const std::string five = " (1,80) (1,80) (1,80) (256,1536) (1,3) ->";
  EXPECT_EQ(lines, (std::vector<std::string>{
                       five + " (1,80,248320)", "model" + five + " (1,80,2048)",
                       "model.language_model.embed_tokens (1,80) -> (1,80,2048)",
                       "model.visual (256,1536) (1,3) -> (256,1024)",
                       "op (1,80,2048) (64,2048) -> (1,80,2048)",
                       "model.language_model (3,1,80) (1,80) (1,80,2048) -> (1,80,2048)",
                       "lm_head (1,80,2048) -> (1,80,248320)"}));
  // The products alone: 2 operations for every parameter and row that it meets.
  EXPECT_GT(walk.work.flops, 2LL * 80 * 1'881'825'088 - 2LL * 80 * 508'559'360);
}

TEST(Walk, TreePrintsAsTorchDoes) {
  const auto model = declared("qwen3.5-2b");
  const std::string text = torch_text(module_tree(model->info().report));
  EXPECT_NE(text.find("(0-23): 24 x Qwen3_5VisionBlock(\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(proj): Conv3d(3, 1024, kernel_size=(2, 16, 16), stride=(2, 16, 16))\n"),
            std::string::npos);
}

}  // namespace
}  // namespace sightline::audit
