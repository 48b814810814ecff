// Protects: config.json is read strictly: every wrong value is an error that names its path,
// expected and found.
#include "qwen3_5/config.hpp"

#include <gtest/gtest.h>

#include "io/json.hpp"

namespace sightline::qwen3_5 {
namespace {

io::Json dense_config() {
  return io::read_json_file(std::string(SIGHTLINE_TEST_DATA) + "/models/dense/config.json");
}

// Sets, or with `value` null removes, the member at "a.b" of an object.
void set(io::Json& json, const std::string& path, const io::Json& value) {
  const auto dot = path.find('.');
  auto& members = json.as_object();
  for (auto it = members.begin(); it != members.end(); ++it) {
    if (it->first != path.substr(0, dot)) continue;
    if (dot != std::string::npos) return set(it->second, path.substr(dot + 1), value);
    if (value.is_null()) {
      members.erase(it);
    } else {
      it->second = value;
    }
    return;
  }
  json.add(path, value);
}

std::string error_of(const std::string& path, const io::Json& value) {
  io::Json json = dense_config();
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
            "config.json: model_type: expected \"qwen3_5\", found \"llama\"");
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
