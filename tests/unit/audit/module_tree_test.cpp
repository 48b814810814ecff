// Protects: the module tree is that of the reference, printed byte for byte as torch prints it.
// tests/data/audit/qwen3.5-*.txt: tools/reference/module_tree.py, transformers 5.24.0.
#include "audit/module_tree.hpp"

#include <gtest/gtest.h>

#include "audit/subject.hpp"
#include "io/file.hpp"

namespace sightline::audit {
namespace {

ModuleNode tree_of(const std::string& name) {
  return module_tree(subject_of(*find_member(name)).declare()->info().report);
}

class TorchTree : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchTree, IsWhatTorchPrints) {
  const std::string file = std::string(SIGHTLINE_TEST_DATA) + "/audit/" + GetParam() + ".txt";
  EXPECT_EQ(torch_text(tree_of(GetParam())), io::read_file(file));
}

INSTANTIATE_TEST_SUITE_P(Published, TorchTree,
                         ::testing::Values("qwen3.5-2b", "qwen3.5-27b", "qwen3.5-35b-a3b"));

TEST(ModuleTree, FindsModulesByPathFromTheRootOrFromANode) {
  const ModuleNode root = tree_of("qwen3.5-0.8b");
  const ModuleNode* visual = root.find("model.visual");
  ASSERT_NE(visual, nullptr);
  EXPECT_EQ(visual->find("merger.norm"), root.find("model.visual.merger.norm"));
  EXPECT_EQ(root.find("model.visual.nothing"), nullptr);
  EXPECT_EQ(root.find("model.visual.blocks.12"), nullptr);
}

TEST(ModuleTree, FullTextHasEveryBlock) {
  const std::string full = torch_text(tree_of("qwen3.5-0.8b"), true);
  EXPECT_EQ(full.find(" x Qwen3_5VisionBlock"), std::string::npos);
  EXPECT_NE(full.find("(11): Qwen3_5VisionBlock("), std::string::npos);
}

}  // namespace
}  // namespace sightline::audit
