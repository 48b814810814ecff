// Protects the loading of mixture-of-experts checkpoints: every tensor that is missing, of another
// layout or too many is named; mtp.* tensors are left alone in either layout, and counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "qwen3_5/model.hpp"
#include "qwen3_5/moe.hpp"
#include "unit/qwen3_5/config_edit.hpp"

namespace sightline::qwen3_5 {
namespace {

const std::string kModels = std::string(SIGHTLINE_TEST_DATA) + "/models/";
const std::string kExperts = "model.language_model.layers.2.mlp.experts.";

/// A stored checkpoint with other names and shapes.
class Changed final : public io::Checkpoint {
 public:
  explicit Changed(const std::string& name) : stored_(Checkpoint::open(kModels + name)) {
    for (const std::string_view tensor : stored_->names()) names_.emplace(tensor);
  }
  void remove(const std::string& name) { ASSERT_EQ(names_.erase(name), 1U) << name; }
  /// A tensor of this name, with the bytes of another.
  void add(const std::string& name, const std::string& like) {
    names_.insert(name);
    likes_[name] = like;
  }
  void reshape(const std::string& name, const Shape& shape) { shapes_[name] = shape; }

  [[nodiscard]] const std::string& directory() const override { return stored_->directory(); }
  [[nodiscard]] std::vector<io::ShardInfo> shards() const override { return stored_->shards(); }
  [[nodiscard]] std::vector<std::string_view> names() const override {
    return {names_.begin(), names_.end()};
  }
  [[nodiscard]] std::optional<io::StoredTensor> find(std::string_view name) const override {
    const auto own = names_.find(name);
    if (own == names_.end()) return std::nullopt;
    const auto like = likes_.find(*own);
    auto tensor = stored_->find(like == likes_.end() ? name : std::string_view(like->second));
    if (tensor) tensor->name = *own;
    if (const auto shape = shapes_.find(*own); tensor && shape != shapes_.end())
      tensor->shape = shape->second;
    return tensor;
  }

 private:
  std::shared_ptr<const Checkpoint> stored_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> likes_;
  std::map<std::string, Shape, std::less<>> shapes_;
};

std::unique_ptr<model::VisionLanguageModel> load(std::shared_ptr<const io::Checkpoint> checkpoint) {
  const io::Json json = io::read_json_file(checkpoint->directory() + "/config.json");
  return load_model(parse_config(json, "config.json"), std::move(checkpoint));
}

/// Loading fails with this code, and the message has all of these parts.
void expect_failure(const std::shared_ptr<const Changed>& checkpoint, Code code,
                    const std::vector<std::string>& parts) {
  try {
    load(checkpoint);
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(MoeCheckpoint, AMissingExpertIsNamed) {
  for (const char* tensor : {"5.up_proj.weight", "0.down_proj.weight", "7.gate_proj.weight"}) {
    const auto checkpoint = std::make_shared<Changed>("moe-per-expert");
    checkpoint->remove(kExperts + tensor);
    expect_failure(checkpoint, Code::missing_tensor, {kExperts + tensor});
  }
  const auto fused = std::make_shared<Changed>("moe");
  fused->remove(kExperts + "down_proj");
  expect_failure(fused, Code::missing_tensor, {"tensor " + kExperts + "down_proj: "});
  fused->remove(kExperts + "gate_up_proj");
  expect_failure(fused, Code::missing_tensor, {"tensor " + kExperts + "gate_up_proj: "});
}

// The orientation of Qwen3-VL's files would be read as garbage if shapes were not compared.
TEST(MoeCheckpoint, TheOtherOrientationIsRefused) {
  const auto fused = std::make_shared<Changed>("moe");
  fused->reshape(kExperts + "gate_up_proj", Shape{8, 64, 96});
  expect_failure(fused, Code::tensor_shape,
                 {kExperts + "gate_up_proj", "[8, 96, 64]", "[8, 64, 96]"});
  const auto one_by_one = std::make_shared<Changed>("moe-per-expert");
  one_by_one->reshape(kExperts + "3.down_proj.weight", Shape{48, 64});
  expect_failure(one_by_one, Code::tensor_shape,
                 {kExperts + "3.down_proj.weight", "[64, 48]", "[48, 64]"});
}

// Neither half of one layout may go with half of the other, and no expert may be left unused.
TEST(MoeCheckpoint, MixedLayoutsAreRefused) {
  const auto both = std::make_shared<Changed>("moe-per-expert");
  both->add(kExperts + "gate_up_proj", kExperts + "0.gate_proj.weight");
  expect_failure(both, Code::unexpected_tensor, {kExperts + "gate_up_proj"});
  const auto halves = std::make_shared<Changed>("moe");
  halves->remove(kExperts + "gate_up_proj");
  halves->add(kExperts + "0.gate_proj.weight", kExperts + "down_proj");
  expect_failure(halves, Code::missing_tensor, {"tensor " + kExperts + "gate_up_proj: "});
  const auto more = std::make_shared<Changed>("moe-per-expert");
  more->add(kExperts + "8.up_proj.weight", kExperts + "0.up_proj.weight");
  expect_failure(more, Code::unexpected_tensor, {kExperts + "8.up_proj.weight"});
}

TEST(MoeCheckpoint, MtpTensorsAreIgnoredAndCountedInEitherLayout) {
  EXPECT_EQ(load(std::make_shared<Changed>("moe"))->info().report.ignored_mtp, 2);
  const auto more = std::make_shared<Changed>("moe-per-expert");
  const std::string like = kExperts + "0.up_proj.weight";
  more->add("mtp.layers.0.mlp.experts.0.gate_proj.weight", like);
  more->add("mtp.layers.0.mlp.experts.gate_up_proj", like);
  more->add("mtp.layers.0.mlp.gate.weight", like);
  const io::LoadReport report = load(more)->info().report;
  EXPECT_EQ(report.ignored_mtp, 3);
  EXPECT_EQ(report.ignored.front(), "mtp.layers.0.mlp.experts.0.gate_proj.weight");
}

// Classes are those of the mixture-of-experts models throughout, in transformers' order.
TEST(MoeCheckpoint, ModulesHaveTheNamesOfTheReference) {
  const auto model = load(std::make_shared<Changed>("moe"));
  std::vector<std::string> found;
  for (const Site& site : model->info().report.modules) {
    if (site.path.starts_with("model.language_model.layers.2.mlp"))
      found.push_back(site.path.substr(std::string("model.language_model.layers.2.").size()) + " " +
                      site.kind);
    EXPECT_FALSE(site.kind.starts_with("Qwen3_5") && !site.kind.starts_with("Qwen3_5Moe"))
        << site.path << " " << site.kind;
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "mlp Qwen3_5MoeSparseMoeBlock", "mlp.gate Qwen3_5MoeTopKRouter",
                "mlp.experts Qwen3_5MoeExperts", "mlp.experts.act_fn SiLUActivation",
                "mlp.shared_expert Qwen3_5MoeMLP", "mlp.shared_expert.gate_proj Linear",
                "mlp.shared_expert.up_proj Linear", "mlp.shared_expert.down_proj Linear",
                "mlp.shared_expert.act_fn SiLUActivation", "mlp.shared_expert_gate Linear"}));
}

struct Published {
  const char* name;
  std::int64_t hidden, layers, experts, per_token, width, heads, value_heads;
  std::int64_t vision, language, head, mtp, tensors;
};

Config published_config(const Published& model) {
  io::Json json = config_of("moe");
  const auto text = [&](const char* key, std::int64_t value) {
    set(json, std::string("text_config.") + key, value);
  };
  text("hidden_size", model.hidden);
  text("num_hidden_layers", model.layers);
  text("num_experts", model.experts);
  text("num_experts_per_tok", model.per_token);
  text("moe_intermediate_size", model.width);
  text("shared_expert_intermediate_size", model.width);
  text("num_attention_heads", model.heads);
  text("num_key_value_heads", 2);
  text("head_dim", 256);
  text("linear_key_head_dim", 128);
  text("linear_value_head_dim", 128);
  text("linear_num_key_heads", 16);
  text("linear_num_value_heads", model.value_heads);
  text("vocab_size", 248320);
  text("mtp_num_hidden_layers", 1);
  set(json, "text_config.layer_types", nullptr);
  const auto vision = [&](const char* key, std::int64_t value) {
    set(json, std::string("vision_config.") + key, value);
  };
  vision("depth", 27);
  vision("hidden_size", 1152);
  vision("intermediate_size", 4304);
  vision("num_heads", 16);
  vision("num_position_embeddings", 2304);
  vision("out_hidden_size", model.hidden);
  return parse_config(json, "config.json");
}

class PublishedMoe : public ::testing::TestWithParam<Published> {};

// Walked from a configuration alone: every parameter of the published models, specification 1.4.
TEST_P(PublishedMoe, ParametersAreThePublishedOnes) {
  const Published& expected = GetParam();
  const auto model =
      load_model(published_config(expected), io::declared_checkpoint(expected.name, {}));
  const model::ModelInfo& info = model->info();
  std::int64_t vision = 0, language = 0, head = 0, mtp = 0;
  for (const io::ClaimedTensor& tensor : info.report.tensors) {
    std::int64_t& part = tensor.name.starts_with("model.visual.") ? vision
                         : tensor.name.starts_with("model.")      ? language
                                                                  : head;
    part += tensor.shape.elements();
  }
  for (const io::NamedShape& tensor : info.mtp) mtp += tensor.shape.elements();
  EXPECT_EQ(vision, expected.vision);
  EXPECT_EQ(language, expected.language);
  EXPECT_EQ(head, expected.head);
  EXPECT_EQ(mtp, expected.mtp);
  const auto stored = static_cast<std::int64_t>(info.report.tensors.size() + info.mtp.size());
  EXPECT_EQ(stored, expected.tensors);
}

// One token reads the router, its own experts and the shared expert: nothing of the other experts.
TEST_P(PublishedMoe, ATokenReadsItsOwnExperts) {
  const TextConfig text = published_config(GetParam()).text_config;
  const auto block = SparseMoeBlock::load(
      io::Loader(io::declared_checkpoint(GetParam().name, {})).at("mlp"), text);
  Threads threads(1);
  Arena arena;
  nn::Pass pass(kernels::select("reference"), threads, arena);
  kernels::Tally tally{{}, true};
  pass.tally = &tally;
  block(pass, {nullptr, 1, text.hidden_size}, {nullptr, 1, text.hidden_size});
  const std::int64_t h = text.hidden_size, width = text.moe_intermediate_size;
  const std::int64_t values =
      text.num_experts * h + (text.num_experts_per_tok + 1) * 3 * h * width + h;
  EXPECT_EQ(tally.work.weight_bytes, values * dtype_size(DType::bf16));
  EXPECT_GE(tally.work.flops, 2 * values);
}

INSTANTIATE_TEST_SUITE_P(
    , PublishedMoe,
    ::testing::Values(Published{"35b", 2048, 40, 256, 8, 512, 16, 32, 446'571'248, 34'152'051'328,
                                508'559'360, 844'640'768, 1811},
                      Published{"122b", 3072, 48, 256, 8, 1024, 32, 64, 451'290'864,
                                121'348'687'872, 762'839'040, 2'523'679'232, 1949},
                      Published{"397b", 4096, 60, 512, 10, 1024, 32, 64, 456'010'480,
                                395'329'231'616, 1'017'118'720, 6'595'568'128, 2924}),
    [](const auto& info) { return std::string("a") + info.param.name; });

}  // namespace
}  // namespace sightline::qwen3_5
