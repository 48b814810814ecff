// Protects: which experts a token gets and in which order they add up; both layouts of the stored
// experts, told apart by shape; errors that name a missing or misshapen tensor.
#include <filesystem>

#include "io/safetensors_writer.hpp"
#include "unit/io/stored_file.hpp"
#include "unit/qwen3_vl/runner.hpp"

namespace sightline::qwen3_vl {
namespace {

using io::testing::Directory;

TEST(Routing, GreatestLogitsEqualOnesByNumber) {
  const std::vector<float> logits{1, 3, 3, 0, 2, 2, 2, 2};
  const nn::Routing routing = nn::choose_experts({logits.data(), 2, 4}, 2);
  EXPECT_EQ(routing.experts, (std::vector<std::int32_t>{1, 2, 0, 1}));
  EXPECT_EQ(routing.weights, (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F}));
}

// Softmax over all experts, then division by the sum over the chosen ones.
TEST(Routing, WeightsAreRenormalised) {
  const std::vector<float> logits{0.5F, -1.0F, 2.0F, 1.0F};
  const nn::Routing routing = nn::choose_experts({logits.data(), 1, 4}, 3);
  EXPECT_EQ(routing.experts, (std::vector<std::int32_t>{2, 3, 0}));
  double all = 0, chosen = 0;
  for (const float logit : logits) all += std::exp(logit);
  for (const float logit : {2.0F, 1.0F, 0.5F}) chosen += std::exp(logit) / all;
  EXPECT_NEAR(routing.weights[0], std::exp(2.0) / all / chosen, 1e-6);
  EXPECT_NEAR(routing.weights[2], std::exp(0.5) / all / chosen, 1e-6);
}

// Great logits, and some that are not numbers, still give distinct experts.
TEST(Routing, ExtremeLogits) {
  const std::vector<float> logits{1e30F, -1e30F, NAN, 1e30F};
  const nn::Routing routing = nn::choose_experts({logits.data(), 1, 4}, 4);
  auto experts = routing.experts;
  std::sort(experts.begin(), experts.end());
  EXPECT_EQ(experts, (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(Routing, GroupsAreAscendingAndComplete) {
  const nn::Routing routing{3, 2, {5, 1, 1, 5, 0, 5}, {0.75F, 0.25F, 0.5F, 0.5F, 0.9F, 0.1F}};
  const auto groups = nn::group_by_expert(routing, 8);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].expert, 0);
  EXPECT_EQ(groups[1].expert, 1);
  EXPECT_EQ(groups[1].rows, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(groups[2].expert, 5);
  EXPECT_EQ(groups[2].rows, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(groups[2].weights, (std::vector<float>{0.75F, 0.5F, 0.1F}));
}

/// What a copy of a checkpoint changes: `edit` sees every tensor and may change shape and bytes, or
/// return false to leave it out.
struct CopiedTensor {
  std::string name;
  Shape shape;
  std::string bytes;
};

template <class Edit>
void copy_checkpoint(const std::string& name, const Directory& to, const Edit& edit) {
  std::filesystem::copy_file(directory_of(name) + "/config.json", to.file("config.json"));
  const io::SafetensorsFile from(directory_of(name) + "/model.safetensors");
  io::SafetensorsWriter writer(to.file("model.safetensors"));
  for (const io::TensorEntry& entry : from.entries()) {
    const io::StoredTensor stored = from.tensor(entry);
    CopiedTensor tensor{entry.name, stored.shape,
                        std::string(reinterpret_cast<const char*>(stored.data),
                                    static_cast<std::size_t>(stored.bytes))};
    if (!edit(tensor)) continue;
    writer.add(tensor.name,
               {tensor.name, stored.dtype, tensor.shape,
                reinterpret_cast<const std::byte*>(tensor.bytes.data()), tensor.shape.back()});
  }
  writer.finish();
}

/// Exchanges the last two axes of a tensor of two-byte elements.
void transpose(CopiedTensor& tensor) {
  const std::int64_t n = tensor.shape[0], rows = tensor.shape[1], cols = tensor.shape[2];
  const std::string source = tensor.bytes;
  for (std::int64_t e = 0; e < n; ++e) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        std::memcpy(tensor.bytes.data() + 2 * ((e * cols + c) * rows + r),
                    source.data() + 2 * ((e * rows + r) * cols + c), 2);
      }
    }
  }
  tensor.shape = {n, cols, rows};
}

// The reference file stores [N, in, out]. The same experts as [N, out, in], both or one of the two
// tensors, give the same logits but for the order of additions.
TEST(Experts, BothLayoutsGiveTheSameLogits) {
  const model::VisionLanguageModel& published = loaded("qwen3vl-moe");
  const TestPrompt input{published.info(), {TestPicture({1, 4, 6}, 1)}, 12};
  for (const char* part : {"mlp.experts.", "mlp.experts.gate_up_proj", "mlp.experts.down_proj"}) {
    const Directory copy;
    copy_checkpoint("qwen3vl-moe", copy, [&](CopiedTensor& tensor) {
      if (tensor.name.find(part) != std::string::npos) transpose(tensor);
      return true;
    });
    const auto turned = load_from(copy.path());
    for (const char* set : available_sets()) {
      Runner a(published, 2, set), b(*turned, 2, set);
      const auto expected = a.prompt_logits(input, a.encode(input), 64);
      EXPECT_LT(relative_error(b.prompt_logits(input, b.encode(input), 64), expected), 1e-5F)
          << set << " " << part;
    }
  }
}

TEST(Experts, NeitherLayoutIsAnErrorWithBothShapes) {
  const Directory copy;
  copy_checkpoint("qwen3vl-moe", copy, [&](CopiedTensor& tensor) {
    if (tensor.name.ends_with("layers.2.mlp.experts.down_proj")) tensor.shape = {8, 24, 128};
    return true;
  });
  EXPECT_FAILS(load_from(copy.path()), Code::tensor_shape,
               "tensor model.language_model.layers.2.mlp.experts.down_proj: expected shape [8, 48, "
               "64] or [8, 64, 48] by the configuration, found [8, 24, 128]");
}

TEST(Missing, TensorsAreNamed) {
  for (const std::string name : {"model.visual.deepstack_merger_list.1.norm.bias",
                                 "model.language_model.layers.3.self_attn.q_norm.weight",
                                 "model.language_model.layers.0.mlp.gate.weight",
                                 "model.language_model.layers.1.mlp.experts.gate_up_proj"}) {
    const Directory copy;
    copy_checkpoint("qwen3vl-moe", copy, [&](CopiedTensor& tensor) { return tensor.name != name; });
    EXPECT_FAILS(load_from(copy.path()), Code::missing_tensor, "tensor " + name + ": expected");
  }
}

// A DeepStack merger that the configuration does not name is not silently dropped.
TEST(Missing, UnclaimedMergersAreRefused) {
  io::Json json = io::read_json_file(directory_of("qwen3vl") + "/config.json");
  Config config = parse_config(json, "config.json");
  config.vision_config->deepstack_visual_indexes.pop_back();
  EXPECT_FAILS(load_model(config, io::Checkpoint::open(directory_of("qwen3vl"))),
               Code::unexpected_tensor, "model.visual.deepstack_merger_list.2.");
}

TEST(TextOnly, PicturesAreRefused) {
  const Directory copy;
  copy_checkpoint("qwen3vl", copy,
                  [&](CopiedTensor& tensor) { return !tensor.name.starts_with("model.visual."); });
  io::Json json = io::read_json_file(directory_of("qwen3vl") + "/config.json");
  std::erase_if(json.as_object(),
                [](const auto& member) { return member.first == "vision_config"; });
  const auto model =
      load_model(parse_config(json, "config.json"), io::Checkpoint::open(copy.path()));
  EXPECT_FALSE(model->info().has_vision);
  EXPECT_EQ(model->info().feature_width(), model->info().hidden_size);
  const TestPrompt text{model->info(), {}, 40};
  Runner runner(*model);
  EXPECT_EQ(runner.prompt_logits(text, {}, 7),
            Runner(loaded("qwen3vl")).prompt_logits(text, {}, 40));
  const TestPrompt picture{loaded("qwen3vl").info(), {TestPicture({1, 4, 4}, 1)}, 3};
  EXPECT_FAILS(runner.encode(picture), Code::no_vision_tower, "no vision tower");
}

}  // namespace
}  // namespace sightline::qwen3_vl
