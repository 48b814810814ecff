// Protects: config.json is read strictly: every wrong value is an error that names its path,
// expected and found.
#include "qwen3_5/config.hpp"

#include <gtest/gtest.h>

#include "unit/qwen3_5/config_edit.hpp"

namespace sightline::qwen3_5 {
namespace {

io::Json dense_config() { return config_of("dense"); }

std::string error_of(const std::string& path, const io::Json& value,
                     const std::string& model = "dense") {
  io::Json json = config_of(model);
  set(json, path, value);
  try {
    parse_config(json, "config.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.domain(), Domain::checkpoint);
    return error.what();
  }
  return "";
}

TEST(Config, ReadsTheReferenceFile) {
  const Config config = parse_config(dense_config(), "config.json");
  EXPECT_EQ(config.text_config.hidden_size, 64);
  EXPECT_EQ(config.text_config.layer_types[3], LayerType::full_attention);
  EXPECT_EQ(config.text_config.rotary_dim(), 8);
  EXPECT_EQ(config.text_config.conv_width(), 160);
  EXPECT_EQ(config.image_token_id, 490);
  ASSERT_TRUE(config.vision_config.has_value());
  EXPECT_EQ(config.vision_config->shape().patch_values(), 1536);
}

TEST(Config, NamesWhatIsWrong) {
  EXPECT_EQ(error_of("text_config.hidden_size", nullptr),
            "config.json: text_config.hidden_size: expected a value, found nothing");
  EXPECT_EQ(
      error_of("text_config.hidden_size", -1),
      "config.json: text_config.hidden_size: expected an integer from 1 to 1048576, found -1");
  EXPECT_EQ(
      error_of("text_config.hidden_size", "64"),
      "config.json: text_config.hidden_size: expected an integer from 1 to 1048576, found \"64\"");
  EXPECT_EQ(
      error_of("text_config.hidden_size", 1e30),
      "config.json: text_config.hidden_size: expected an integer from 1 to 1048576, found 1e+30");
  EXPECT_EQ(error_of("text_config.hidden_act", "gelu"),
            "config.json: text_config.hidden_act: expected \"silu\", found \"gelu\"");
  EXPECT_EQ(
      error_of("text_config.layer_types", io::Json::Array{"full_attention"}),
      "config.json: text_config.layer_types: expected 4 entries (num_hidden_layers), found 1");
  EXPECT_EQ(error_of("text_config.layer_types",
                     io::Json::Array{"full_attention", "window", "window", "window"}),
            "config.json: text_config.layer_types[1]: expected \"linear_attention\" or "
            "\"full_attention\", found \"window\"");
  EXPECT_EQ(
      error_of("text_config.rope_parameters.rope_type", "yarn"),
      "config.json: text_config.rope_parameters.rope_type: expected \"default\", found \"yarn\"");
  EXPECT_EQ(error_of("text_config.num_key_value_heads", 3),
            "config.json: text_config.num_attention_heads: expected a multiple of 3, found 4");
  EXPECT_EQ(
      error_of("vision_config.num_position_embeddings", 63),
      "config.json: vision_config.num_position_embeddings: expected a square number, found 63");
  EXPECT_EQ(error_of("vision_config.out_hidden_size", 32),
            "config.json: vision_config.out_hidden_size: expected 64 (the text model's "
            "hidden_size), found 32");
  EXPECT_EQ(error_of("vision_config.deepstack_visual_indexes", io::Json::Array{5}),
            "config.json: vision_config.deepstack_visual_indexes: expected [] (Qwen3.5 has no "
            "DeepStack), found a non-empty list");
  EXPECT_EQ(error_of("model_type", "llama"),
            "config.json: model_type: expected one of \"qwen3_5\", \"qwen3_5_text\", "
            "\"qwen3_5_moe\", \"qwen3_5_moe_text\", found \"llama\"");
}

TEST(Config, ReadsExperts) {
  const Config config = parse_config(config_of("moe"), "config.json");
  EXPECT_EQ(config.model_type, "qwen3_5_moe");
  const TextConfig& text = config.text_config;
  EXPECT_TRUE(text.has_experts());
  EXPECT_EQ(text.num_experts, 8);
  EXPECT_EQ(text.num_experts_per_tok, 2);
  EXPECT_EQ(text.moe_intermediate_size, 48);
  EXPECT_EQ(text.shared_expert_intermediate_size, 40);
  EXPECT_EQ(text.class_name("Attention"), "Qwen3_5MoeAttention");
  EXPECT_EQ(config.vision_config->shape().family, "Qwen3_5Moe");
  EXPECT_FALSE(parse_config(dense_config(), "config.json").text_config.has_experts());
}

TEST(Config, NamesWhatIsWrongWithExperts) {
  const auto error = [](const std::string& key, const io::Json& value) {
    return error_of("text_config." + key, value, "moe");
  };
  const std::string at = "config.json: text_config.";
  for (const char* key : {"num_experts", "num_experts_per_tok", "moe_intermediate_size",
                          "shared_expert_intermediate_size"}) {
    EXPECT_EQ(error(key, nullptr), at + key + ": expected a value, found nothing");
  }
  EXPECT_EQ(error("num_experts", 0),
            at + "num_experts: expected an integer from 1 to 65536, found 0");
  EXPECT_EQ(error("num_experts", "8"),
            at + "num_experts: expected an integer from 1 to 65536, found \"8\"");
  EXPECT_EQ(error("num_experts_per_tok", 9),
            at + "num_experts_per_tok: expected an integer from 1 to 8, found 9");
  EXPECT_EQ(error("moe_intermediate_size", -48),
            at + "moe_intermediate_size: expected an integer from 1 to 1048576, found -48");
  EXPECT_EQ(error("norm_topk_prob", false),
            at + "norm_topk_prob: expected true (transformers always renormalises), found false");
  EXPECT_EQ(error("mlp_only_layers", io::Json::Array{2}),
            at + "mlp_only_layers: expected [] (every layer has experts), found a non-empty list");
}

// The parts name the type of the whole; only old files repeat it for the tower.
TEST(Config, ModelTypesOfThePartsMustFit) {
  EXPECT_EQ(error_of("text_config.model_type", "qwen3_5_text", "moe"),
            "config.json: text_config.model_type: expected \"qwen3_5_moe_text\", found "
            "\"qwen3_5_text\"");
  EXPECT_EQ(error_of("text_config.model_type", "qwen3_5_moe_text"),
            "config.json: text_config.model_type: expected \"qwen3_5_text\", found "
            "\"qwen3_5_moe_text\"");
  EXPECT_EQ(error_of("vision_config.model_type", "qwen3_vl_vision", "moe"),
            "config.json: vision_config.model_type: expected \"qwen3_5_moe_vision\", found "
            "\"qwen3_vl_vision\"");
  EXPECT_EQ(error_of("vision_config.model_type", "qwen3_5_moe", "moe"), "");
  EXPECT_EQ(error_of("vision_config.model_type", "qwen3_5"), "");
}

// Layer types may be left out: transformers derives them from the interval.
TEST(Config, DerivesLayerTypes) {
  io::Json json = dense_config();
  set(json, "text_config.layer_types", nullptr);
  EXPECT_EQ(parse_config(json, "config.json").text_config.layer_types,
            parse_config(dense_config(), "config.json").text_config.layer_types);
}

TEST(Config, VisionMayBeAbsent) {
  io::Json json = dense_config();
  set(json, "vision_config", nullptr);
  EXPECT_FALSE(parse_config(json, "config.json").vision_config.has_value());
}

}  // namespace
}  // namespace sightline::qwen3_5
