// The audit through the binary on a checkpoint of each model type that the engine runs. Protects:
// inspect, trace, merge, hidden, graph and source work on all of them, agree with each other, and
// say that the run was right.
#include <gtest/gtest.h>

#include <set>

#include "binary.hpp"
#include "cli/table.hpp"

namespace sightline::e2e {
namespace {

using io::Json;

struct ModelType {
  const char* folder;     // of tests/data/models
  const char* name;       // model_type of its config.json
  const char* classes;    // what its classes begin with
  const char* text;       // class of its language model
  std::size_t deepstack;  // blocks that feed its layers
};

void PrintTo(const ModelType& type, std::ostream* out) { *out << type.folder; }

class ModelTypes : public testing::TestWithParam<ModelType> {
 protected:
  ModelTypes() { write_checkpoint(folder_, GetParam().folder); }

  Finished ask(const std::string& command, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{command, folder_.path(), "-i", data("images/red-64.png"),
                                       "color?"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Finished done = sightline(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return done;
  }

  Folder folder_;
};

TEST_P(ModelTypes, InspectNamesItsParts) {
  const Json json = sightline({"inspect", folder_.path(), "--json"}).json();
  const Json& report = *json.find("report");
  EXPECT_EQ(report.find("model_type")->as_string(), GetParam().name);
  EXPECT_EQ(report.find("config_class")->as_string(), std::string(GetParam().classes) + "Config");
  const auto& children = json.find("children")->as_array();
  ASSERT_EQ(children.size(), 2U);
  EXPECT_EQ(children[0].find("class")->as_string(),
            std::string(GetParam().classes) + "VisionModel");
  EXPECT_EQ(children[1].find("class")->as_string(), GetParam().text);
  EXPECT_FALSE(json.find("same_object")->as_bool());
}

TEST_P(ModelTypes, TraceAndItsProofHold) {
  const Json json = ask("trace", {"--json"}).json();
  EXPECT_EQ(json.find("model")->find("model_type")->as_string(), GetParam().name);
  EXPECT_TRUE(json.find("proof")->find("ok")->as_bool());
  EXPECT_TRUE(json.find("first_non_finite")->is_null());
  EXPECT_EQ(json.find("edges")->as_array().size(), 4U);
  EXPECT_GT(json.find("totals")->find("flops")->as_int(), 0);
  std::size_t added = 0;
  for (const Json& event : json.find("events")->as_array())
    added += event.find("class")->as_string() == "_deepstack_process" ? 1 : 0;
  EXPECT_EQ(added, GetParam().deepstack);
  for (const char* level : {"root", "stages", "all"}) {
    for (const std::string& line : ask("trace", {"--level", level}).lines())
      EXPECT_LE(cli::display_width(line), 100U) << line;
  }
}

TEST_P(ModelTypes, MergeAndHiddenAgreeWithTheTrace) {
  const Json merge = ask("merge", {"--json"}).json(), hidden = ask("hidden", {"--json"}).json();
  const Json& proof = *merge.find("proof");
  EXPECT_TRUE(proof.find("ok")->as_bool());
  EXPECT_EQ(proof.find("image_count")->as_int(), 64);
  EXPECT_EQ(proof.find("first_positions")->as_array().front().as_int(),
            proof.find("runs")->as_array().front().find("first")->as_int());
  EXPECT_FALSE(hidden.find("same_tensor")->as_bool());
  const auto& states = hidden.find("states")->as_array();
  ASSERT_EQ(states.size(), 6U);
  // What the merger returns is what is inserted.
  EXPECT_EQ(states[2].find("from")->as_string(), "model.visual|pooler_output");
  EXPECT_EQ(states[2].find("sha256")->as_string(),
            proof.find("visual")->find("sha256")->as_string());
}

TEST_P(ModelTypes, GraphHasBothBranchesAndWhatElseReachesTheLanguageModel) {
  const Json json = sightline({"graph", folder_.path(), "--json"}).json();
  std::set<std::string> ids;
  for (const Json& node : json.find("nodes")->as_array()) ids.insert(node.find("id")->as_string());
  EXPECT_EQ(ids.size(), json.find("nodes")->as_array().size()) << "two boxes of one id";
  std::size_t lanes = 0;
  for (const Json& edge : json.find("edges")->as_array()) {
    EXPECT_TRUE(ids.contains(edge.find("from")->as_string()));
    EXPECT_TRUE(ids.contains(edge.find("to")->as_string()));
    lanes += edge.find("label")->as_string().starts_with("deepstack_merger_list.") ? 1 : 0;
  }
  EXPECT_EQ(lanes, GetParam().deepstack);
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelTypes,
    testing::Values(
        ModelType{"dense", "qwen3_5", "Qwen3_5", "Qwen3_5TextModel", 0},
        ModelType{"moe", "qwen3_5_moe", "Qwen3_5Moe", "Qwen3_5MoeTextModel", 0},
        ModelType{"moe-per-expert", "qwen3_5_moe", "Qwen3_5Moe", "Qwen3_5MoeTextModel", 0},
        ModelType{"qwen3vl", "qwen3_vl", "Qwen3VL", "Qwen3VLTextModel", 3},
        ModelType{"qwen3vl-moe", "qwen3_vl_moe", "Qwen3VLMoe", "Qwen3VLMoeTextModel", 2}));

}  // namespace
}  // namespace sightline::e2e
