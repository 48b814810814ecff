// Protects: exports of the language model alone (flat configuration, tensors below "model.") and
// checkpoints that say language_model_only answer text with the bits of the whole model, and refuse
// pictures by name.
#include <gtest/gtest.h>

#include "io/safetensors_writer.hpp"
#include "qwen3_5/model.hpp"
#include "unit/io/stored_file.hpp"
#include "unit/qwen3_5/config_edit.hpp"

namespace sightline::qwen3_5 {
namespace {

using io::testing::Directory;

std::string directory_of(const std::string& name) {
  return std::string(SIGHTLINE_TEST_DATA) + "/models/" + name;
}

std::unique_ptr<model::VisionLanguageModel> load(const io::Json& config,
                                                 const std::string& directory) {
  return load_model(parse_config(config, "config.json"), io::Checkpoint::open(directory));
}

/// What transformers writes for the language model alone.
io::Json flat_config(const std::string& name) {
  io::Json json = config_of(name);
  return *json.find("text_config");
}

/// Copies the tensors whose new name, made by `rename`, is not empty, into one file.
template <class Rename>
void copy_tensors(const std::string& name, const Directory& to, const Rename& rename) {
  const auto from = io::Checkpoint::open(directory_of(name));
  io::SafetensorsWriter writer(to.file("model.safetensors"));
  for (const std::string_view stored_name : from->names()) {
    const std::string target = rename(std::string(stored_name));
    if (target.empty()) continue;
    const io::StoredTensor stored = *from->find(stored_name);
    writer.add(target, {target, stored.dtype, stored.shape, stored.data, stored.shape.back()});
  }
  writer.finish();
}

std::string flat_name(const std::string& name) {
  constexpr std::string_view kWhole = "model.language_model.";
  if (name.starts_with("model.visual.")) return "";
  return name.starts_with(kWhole) ? "model." + name.substr(kWhole.size()) : name;
}

/// Logits of the last row of a text, in pieces of 64, then of three steps.
std::vector<float> text_logits(const model::VisionLanguageModel& model) {
  constexpr std::int64_t kPrompt = 80, kTotal = 83, kPiece = 64;
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select("auto"), threads, arena);
  pass.precision = nn::Precision::f32;
  model::Cache cache = model.new_cache(pass.precision);
  nn::Positions positions;
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < kTotal; ++i) {
    positions.push(i, i, i);
    ids.push_back((i * 37 + 5) % 480);
  }
  std::vector<float> all;
  for (std::int64_t first = 0; first < kTotal;) {
    const bool step = first >= kPrompt;
    const std::int64_t rows = step ? 1 : std::min(kPiece, kPrompt - first), last = rows - 1;
    const View embeds = arena.matrix(rows, model.info().hidden_size);
    model.embed(
        pass,
        std::span(ids).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
        embeds);
    const model::Segment segment{&cache,     0,
                                 rows,       &positions,
                                 first,      step ? model::RowKind::step : model::RowKind::prompt,
                                 {&last, 1}, nullptr};
    std::vector<float> logits(static_cast<std::size_t>(model.info().vocab_size));
    model.forward(pass, embeds, {&segment, 1}, {{logits.data(), 1, model.info().vocab_size}, {}});
    all.insert(all.end(), logits.begin(), logits.end());
    first += rows;
  }
  return all;
}

void expect_refusal(const model::VisionLanguageModel& model, const std::string& why) {
  EXPECT_FALSE(model.info().has_vision);
  const std::vector<float> values(16 * 1536);
  const model::VisualInput picture{{values.data(), 16, 1536}, {1, 4, 4}};
  std::vector<float> features(static_cast<std::size_t>(4 * model.info().hidden_size));
  Threads threads(1);
  Arena arena;
  nn::Pass pass(kernels::select("auto"), threads, arena);
  EXPECT_FAILS(model.encode(pass, {&picture, 1}, {features.data(), 4, model.info().hidden_size}),
               Code::no_vision_tower, "the checkpoint has no vision tower (config.json " + why);
  model::Cache cache = model.new_cache(pass.precision);
  const std::vector<std::int32_t> ids{1, 2};
  nn::Positions positions;
  for (std::int32_t i = 0; i < 2; ++i) positions.push(i, i, i);
  EXPECT_FAILS(model.whole(pass, {ids, {&picture, 1}, {}, &positions}, cache,
                           arena.matrix(2, model.info().vocab_size)),
               Code::no_vision_tower, "it answers text only");
}

class TextOnly : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::string name() const { return GetParam(); }
};

TEST_P(TextOnly, FlatExportGivesTheBitsOfTheWhole) {
  const Directory copy;
  copy_tensors(name(), copy, flat_name);
  const auto whole = load(config_of(name()), directory_of(name()));
  const auto text = load(flat_config(name()), copy.path());
  const bool moe = name() == "moe";
  EXPECT_EQ(text->info().model_type, moe ? "qwen3_5_moe_text" : "qwen3_5_text");
  const auto& modules = text->info().report.modules;
  const std::string prefix = moe ? "Qwen3_5Moe" : "Qwen3_5";
  EXPECT_EQ(modules[0].kind, prefix + "ForCausalLM");
  EXPECT_EQ(modules[1].path, "model");
  EXPECT_EQ(modules[1].kind, prefix + "TextModel");
  EXPECT_EQ(text_logits(*text), text_logits(*whole));
  expect_refusal(*text, "lacks vision_config");
}

// The run with transformers' calls, on the model that has no Qwen3_5Model in between.
TEST_P(TextOnly, WholePromptGivesTheBitsOfTheWhole) {
  const Directory copy;
  copy_tensors(name(), copy, flat_name);
  const auto whole = load(config_of(name()), directory_of(name()));
  const auto text = load(flat_config(name()), copy.path());
  Threads threads(1);
  Arena arena;
  nn::Pass pass(kernels::select("auto"), threads, arena);
  const std::vector<std::int32_t> ids{7, 300, 12, 5};
  nn::Positions positions;
  for (std::int32_t i = 0; i < 4; ++i) positions.push(i, i, i);
  std::vector<std::vector<float>> logits;
  for (const auto* model : {whole.get(), text.get()}) {
    model::Cache cache = model->new_cache(pass.precision);
    std::vector<float> rows(static_cast<std::size_t>(4 * model->info().vocab_size));
    model->whole(pass, {ids, {}, {}, &positions}, cache,
                 {rows.data(), 4, model->info().vocab_size});
    EXPECT_EQ(cache.length, 4);
    logits.push_back(std::move(rows));
  }
  EXPECT_EQ(logits[0], logits[1]);
}

// A tower that a text-only configuration does not want is left alone; without the flag it would be
// an unexpected tensor, and without the tensors a missing one.
TEST_P(TextOnly, LanguageModelOnlyLeavesTheTowerAlone) {
  io::Json config = config_of(name());
  set(config, "language_model_only", true);
  const auto whole = load(config_of(name()), directory_of(name()));
  const auto with_tower = load(config, directory_of(name()));
  EXPECT_GT(with_tower->info().report.skipped, 0);
  EXPECT_EQ(text_logits(*with_tower), text_logits(*whole));
  expect_refusal(*with_tower, "says language_model_only");

  const Directory copy;
  copy_tensors(name(), copy, [](const std::string& tensor) {
    return tensor.starts_with("model.visual.") ? std::string() : tensor;
  });
  const auto without = load(config, copy.path());
  EXPECT_EQ(text_logits(*without), text_logits(*whole));
  expect_refusal(*without, "says language_model_only");
  EXPECT_FAILS(load(config_of(name()), copy.path()), Code::missing_tensor, "model.visual.");
}

// The other prefix is a missing tensor whose message shows what the file holds.
TEST_P(TextOnly, WrongPrefixIsNamed) {
  EXPECT_FAILS(load(flat_config(name()), directory_of(name())), Code::missing_tensor,
               "tensor model.embed_tokens.weight: expected");
}

INSTANTIATE_TEST_SUITE_P(, TextOnly, ::testing::Values("dense", "moe"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sightline::qwen3_5
