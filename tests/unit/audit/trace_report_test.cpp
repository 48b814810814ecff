// Protects: what `sightline trace` shows is what the reference's audit shows: inputs, 5 calls with
// 4 edges, 54 stages with their parameters; folding, numbers, the place of a value that is not
// finite.
#include "audit/trace_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "audit/base64.hpp"
#include "audit/family.hpp"
#include "audit/trace_run.hpp"
#include "audit/walk.hpp"
#include "traced_case.hpp"

namespace sightline::audit {
namespace {

struct Declared {
  explicit Declared(std::string_view name)
      : model(generate::declare_model(published_config(*find_member(name)), std::string(name))) {
    const PromptShape shape{{{1, 16, 16}}, {}, 16};
    Walk walk = walk_whole(*model, shape, nn::Precision::bf16);
    report.model = name;
    report.shapes_only = report.counted = true;
    report.info = &model->info();
    report.tree = module_tree(model->info().report);
    report.proofs = declared_proofs(model->info(), prompt_ids(model->info(), shape), walk.events);
    report.events = std::move(walk.events);
    report.work = walk.work;
  }
  std::unique_ptr<model::VisionLanguageModel> model;
  TraceReport report;
};

std::vector<std::string> names(const TraceReport& report, Level level, bool full = false) {
  std::vector<std::string> list;
  for (const Row& row : folded_rows(report.events, shown_events(report.events, level), level, full))
    list.push_back(fmt::format("{} {}", row.first, row.name));
  return list;
}

TEST(Levels, StagesOfTheTwoBillionModelFold) {
  const Declared declared("qwen3.5-2b");
  EXPECT_EQ(
      names(declared.report, Level::stages),
      (std::vector<std::string>{"1 model.language_model.embed_tokens", "2 model.visual.patch_embed",
                                "3 model.visual.blocks.0-23", "27 model.visual.merger",
                                "28 model.masked_scatter", "29 model.language_model.layers.0-23",
                                "53 model.language_model.norm", "54 lm_head"}));
  EXPECT_EQ(names(declared.report, Level::stages, true).size(), 54U);
  EXPECT_EQ(names(declared.report, Level::root),
            (std::vector<std::string>{"1 ", "2 model", "3 model.visual", "4 model.language_model",
                                      "5 lm_head"}));
}

TEST(Levels, AllCallsFoldByWhatIsInside) {
  const Declared declared("qwen3.5-2b");
  const std::vector<std::string> all = names(declared.report, Level::all);
  const auto has = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& line) { return line.ends_with(name); });
  };
  // Three layers of linear attention, then one of full attention.
  EXPECT_TRUE(has(" model.language_model.layers.0-2"));
  EXPECT_TRUE(has(" model.language_model.layers.3"));
  EXPECT_TRUE(has(" model.language_model.layers.4-6"));
  EXPECT_TRUE(has(" model.language_model.layers.0-2.linear_attn.in_proj_qkv"));
  EXPECT_TRUE(has(" model.visual.blocks.0-23.attn.qkv"));
  EXPECT_FALSE(has(" model.language_model.layers.1"));
  EXPECT_EQ(names(declared.report, Level::all, true).size(), declared.report.events.size());
}

TEST(TraceJson, RowsCarryParametersWorkAndPlace) {
  const Declared declared("qwen3.5-2b");
  const io::Json document = trace_json(declared.report, Level::root);
  const io::Json& head = document.find("events")->as_array().back();
  EXPECT_EQ(head.find("params")->as_int(), 508'559'360);
  EXPECT_TRUE(head.find("tied")->as_bool());
  // 2 operations for each parameter and row.
  EXPECT_EQ(head.find("flops")->as_int(), 2LL * 80 * 508'559'360);
  EXPECT_EQ(head.find("weight_bytes")->as_int(), 2LL * 508'559'360);
  EXPECT_EQ(head.find("caller")->find("file")->as_string(), "src/qwen3_5/model.cpp");
  EXPECT_GT(head.find("caller")->find("line")->as_int(), 0);
  EXPECT_EQ(document.find("totals")->find("parameters")->as_int(), 331'416'576LL + 1'881'825'088LL);
  EXPECT_TRUE(document.find("proof")->find("other_rows_equal_original")->is_null());
}

TEST(TraceJson, AFinishedEventIsAnObjectWhileTheRunGoesOn) {
  TracedCase run(model_directory("dense"), model_directory("dense") + "/cases/image.safetensors");
  TraceReport report;
  report.info = &run.model->info();
  report.tree = module_tree(run.model->info().report);
  std::vector<io::Json> seen;
  EventRecorder recorder({true, nullptr, [&](const Event& event) {
                            seen.push_back(event_json(report, event, seen.size() + 1));
                          }});
  run.run(&recorder);
  ASSERT_EQ(seen.size(), recorder.events().size());
  EXPECT_EQ(seen.front().find("name")->as_string(), "model.language_model.embed_tokens");
  EXPECT_EQ(seen.back().find("name")->as_string(), "");
  EXPECT_GT(seen.back().find("dur_us")->as_double(), 0);
  for (const io::Json& event : seen) {
    ASSERT_NE(event.find("stats"), nullptr);
    EXPECT_EQ(event.find("stats")->find("nan")->as_int(), 0);
  }
}

TEST(TraceRun, ACountingWalkMakesTheSameCalls) {
  TracedCase run(model_directory("dense"),
                 model_directory("dense") + "/cases/two-images.safetensors");
  EventRecorder recorder({});
  run.run(&recorder);
  PromptShape shape;
  shape.images = run.reference.images.grids;
  std::int64_t visual = 0;
  for (const nn::Grid& grid : shape.images) visual += grid.patches() / 4;
  shape.other_tokens = static_cast<std::int64_t>(run.reference.ids.size()) - visual;
  const Walk walk = walk_whole(*run.model, shape, nn::Precision::f32);
  ASSERT_EQ(walk.events.size(), recorder.events().size());
  for (std::size_t i = 0; i < walk.events.size(); ++i) {
    const Event &a = walk.events[i], &b = recorder.events()[i];
    EXPECT_EQ(a.key(), b.key());
    EXPECT_EQ(a.class_name, b.class_name);
    ASSERT_EQ(a.outputs.size(), b.outputs.size());
    for (std::size_t k = 0; k < a.outputs.size(); ++k)
      EXPECT_EQ(a.outputs[k].shape, b.outputs[k].shape) << a.key();
  }
}

Event call(std::int64_t index, std::int64_t parent, const char* path, bool bad_in, bool bad_out) {
  const auto tensor = [](bool bad) {
    EventTensor made;
    made.statistics = trace::Statistics{};
    made.statistics->non_finite = bad ? 1 : 0;
    return made;
  };
  Event event;
  event.index = index;
  event.parent = parent;
  event.path = path;
  event.inputs = {tensor(bad_in)};
  event.outputs = {tensor(bad_out)};
  return event;
}

TEST(NonFinite, TheModuleThatMadeItIsNamed) {
  // The inner module makes it; the outer one passes it on, the next receives it.
  const Events events{call(0, -1, "", false, true), call(1, 0, "a", false, true),
                      call(2, 1, "a.x", false, false), call(3, 1, "a.y", false, true),
                      call(4, 0, "b", true, true)};
  EXPECT_EQ(first_non_finite(events)->path, "a.y");
  EXPECT_EQ(first_non_finite({call(0, -1, "", false, false)}), nullptr);
  // A sum between two modules makes it: no module inside did.
  const Events between{call(0, -1, "layer", false, true), call(1, 0, "layer.x", false, false)};
  EXPECT_EQ(first_non_finite(between)->path, "layer");
}

TEST(Base64, OfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace sightline::audit
