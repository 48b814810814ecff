// Protects: the embedded sources are the files of the tree, and every recorded call is found on a
// line of them, so that code and trace can be seen to agree.
#include "audit/module_source.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "audit/embedded_sources.hpp"
#include "audit/subject.hpp"
#include "audit/walk.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

namespace fs = std::filesystem;

TEST(EmbeddedSources, EqualTheFilesOfTheTree) {
  const fs::path root = fs::path(SIGHTLINE_TEST_DATA).parent_path().parent_path();
  std::set<std::string> embedded;
  for (const EmbeddedFile& file : embedded_files()) {
    EXPECT_EQ(file.text, io::read_file((root / file.path).string())) << file.path;
    embedded.emplace(file.path);
  }
  for (const char* folder : {"src/nn", "src/model", "src/qwen3_5"}) {
    for (const auto& file : fs::directory_iterator(root / folder)) {
      if (file.path().extension() != ".cpp") continue;
      const std::string path = std::string(folder) + "/" + file.path().filename().string();
      EXPECT_TRUE(embedded.contains(path)) << path;
    }
  }
}

Events events_of(const char* name) {
  const auto model = subject_of(*find_member(name)).declare();
  return walk_whole(*model, {{{1, 16, 16}}, {}, 16}, nn::Precision::bf16).events;
}

TEST(ModuleSource, MarksTheCallsOfTheMerger) {
  const Events events = events_of("qwen3.5-0.8b");
  const std::vector<PlacedCall> calls = placed_calls(events);
  const ModuleSource source = module_source(calls, "model.visual.merger");
  EXPECT_EQ(source.call->class_name, "Qwen3_5VisionPatchMerger");
  ASSERT_EQ(source.functions.size(), 1U);
  EXPECT_EQ(source.functions[0].file, "src/nn/vision_block.cpp");
  EXPECT_NE(source.functions[0].lines[0].text.find("PatchMerger::operator()"),
            std::string_view::npos);
  EXPECT_EQ(source.functions[0].lines.back().text, "}");
  std::vector<std::string> called;
  for (const SourceLine& line : source.functions[0].lines) {
    for (const std::int64_t call : line.calls) {
      const Event& event = events[static_cast<std::size_t>(call - 1)];
      const std::string member = event.path.substr(event.path.rfind('.') + 1);
      EXPECT_NE(line.text.find(member + "("), std::string_view::npos) << line.text;
      called.push_back(member);
    }
  }
  EXPECT_EQ(called, (std::vector<std::string>{"norm", "linear_fc1", "act_fn", "linear_fc2"}));
}

// Every call of a walk has its line marked in the source of the module that made it.
TEST(ModuleSource, EveryCallIsOnALine) {
  const std::vector<PlacedCall> calls = placed_calls(events_of("qwen3.5-0.8b"));
  std::set<std::string> seen;
  for (const PlacedCall& module : calls) {
    if (module.operation || module.path.empty() || !seen.insert(module.class_name).second) continue;
    const ModuleSource source = module_source(calls, module.path);
    std::size_t expected = 0, marked = 0;
    for (const PlacedCall& call : calls) expected += call.parent == source.call->number ? 1 : 0;
    for (const SourceFunction& function : source.functions) {
      for (const SourceLine& line : function.lines) marked += line.calls.size();
    }
    EXPECT_EQ(marked, expected) << module.path;
  }
  EXPECT_GT(seen.size(), 15U);
}

TEST(ModuleSource, AnUnknownNameListsTheClasses) {
  const std::vector<PlacedCall> calls = placed_calls(events_of("qwen3.5-0.8b"));
  try {
    module_source(calls, "Qwen3_5Nothing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_option);
    EXPECT_NE(std::string(error.what()).find("Qwen3_5Attention"), std::string::npos);
  }
}

}  // namespace
}  // namespace sightline::audit
