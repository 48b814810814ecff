// Protects: config.json of Qwen3-VL is read strictly, dense and mixture of experts, as published
// and as transformers saves it: every wrong value is an error that names its path, expected and
// found.
#include "qwen3_vl/config.hpp"

#include <gtest/gtest.h>

namespace sightline::qwen3_vl {
namespace {

io::Json stored_config(const std::string& name) {
  return io::read_json_file(std::string(SIGHTLINE_TEST_DATA) + "/models/" + name + "/config.json");
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
  json.add(path.substr(path.rfind('.') + 1), value);
}

std::string error_of(const std::string& name, const std::string& path, const io::Json& value) {
  io::Json json = stored_config(name);
  set(json, path, value);
  try {
    parse_config(json, "config.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.domain(), Domain::checkpoint);
    return error.what();
  }
  return "";
}

TEST(Config, ReadsTheReferenceFiles) {
  const Config dense = parse_config(stored_config("qwen3vl"), "config.json");
  EXPECT_EQ(dense.text_config.family, "Qwen3VL");
  EXPECT_EQ(dense.text_config.head_dim, 32);
  EXPECT_EQ(dense.text_config.rope_parameters.mrope_section,
            (std::array<std::int64_t, 3>{6, 5, 5}));
  EXPECT_EQ(dense.deepstack_layers(), 3);
  EXPECT_FALSE(dense.text_config.is_sparse(0));
  EXPECT_EQ(dense.image_token_id, 490);
  const Config moe = parse_config(stored_config("qwen3vl-moe"), "config.json");
  EXPECT_EQ(moe.text_config.family, "Qwen3VLMoe");
  EXPECT_EQ(moe.text_config.num_experts, 8);
  EXPECT_EQ(moe.text_config.num_experts_per_tok, 2);
  EXPECT_EQ(moe.deepstack_layers(), 2);
  EXPECT_TRUE(moe.text_config.is_sparse(0));
}

// The published files: rope_scaling with rope_theta beside it, num_experts, ids left to the class.
TEST(Config, ReadsThePublishedSpelling) {
  io::Json json = stored_config("qwen3vl-moe");
  set(json, "text_config.rope_parameters", nullptr);
  set(json, "text_config.rope_scaling",
      io::Json::Object{{"mrope_interleaved", true},
                       {"mrope_section", io::Json::Array{6, 5, 5}},
                       {"rope_type", "default"}});
  set(json, "text_config.rope_theta", 5000000);
  set(json, "text_config.num_local_experts", nullptr);
  set(json, "text_config.num_experts", 8);
  for (const char* key :
       {"image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"})
    set(json, key, nullptr);
  const Config config = parse_config(json, "config.json");
  EXPECT_EQ(config.text_config.rope_parameters.rope_theta, 5e6);
  EXPECT_EQ(config.text_config.num_experts, 8);
  EXPECT_EQ(config.image_token_id, 151655);
  EXPECT_EQ(config.video_token_id, 151656);
  EXPECT_EQ(config.vision_start_token_id, 151652);
  EXPECT_EQ(config.vision_end_token_id, 151653);
}

// Layers without experts, as transformers chooses them.
TEST(Config, SparseLayers) {
  io::Json json = stored_config("qwen3vl-moe");
  set(json, "text_config.decoder_sparse_step", 2);
  set(json, "text_config.mlp_only_layers", io::Json::Array{3});
  const TextConfig text = parse_config(json, "config.json").text_config;
  EXPECT_EQ(
      (std::array{text.is_sparse(0), text.is_sparse(1), text.is_sparse(2), text.is_sparse(3)}),
      (std::array{false, true, false, false}));
  EXPECT_EQ(text.intermediate_size, 160);
}

TEST(Config, VisionMayBeAbsent) {
  io::Json json = stored_config("qwen3vl");
  set(json, "vision_config", nullptr);
  const Config config = parse_config(json, "config.json");
  EXPECT_FALSE(config.vision_config.has_value());
  EXPECT_EQ(config.deepstack_layers(), 0);
}

struct Wrong {
  const char* model;
  const char* path;
  io::Json value;
  const char* message;  // after "config.json: "
};

TEST(Config, NamesWhatIsWrong) {
  const Wrong all[] = {
      {"qwen3vl", "model_type", "qwen3_5",
       "model_type: expected \"qwen3_vl\" or \"qwen3_vl_moe\", found \"qwen3_5\""},
      {"qwen3vl", "text_config.model_type", "qwen3_vl_moe_text",
       "text_config.model_type: expected \"qwen3_vl_text\", found \"qwen3_vl_moe_text\""},
      {"qwen3vl", "text_config.hidden_size", nullptr,
       "text_config.hidden_size: expected a value, found nothing"},
      {"qwen3vl", "text_config.head_dim", -1,
       "text_config.head_dim: expected an integer from 1 to 1048576, found -1"},
      {"qwen3vl", "text_config.head_dim", 33,
       "text_config.head_dim: expected an even number, found 33"},
      {"qwen3vl", "text_config.num_key_value_heads", 3,
       "text_config.num_attention_heads: expected a multiple of 3, found 4"},
      {"qwen3vl", "text_config.hidden_act", "gelu",
       "text_config.hidden_act: expected \"silu\", found \"gelu\""},
      {"qwen3vl", "text_config.attention_bias", true,
       "text_config.attention_bias: expected false (no published model has text biases), found "
       "true"},
      {"qwen3vl", "text_config.rope_parameters.rope_type", "yarn",
       "text_config.rope_parameters.rope_type: expected \"default\", found \"yarn\""},
      {"qwen3vl", "text_config.rope_parameters.mrope_interleaved", false,
       "text_config.rope_parameters.mrope_interleaved: expected true (transformers always "
       "interleaves the axes), found false"},
      {"qwen3vl", "text_config.rope_parameters.mrope_section", io::Json::Array{6, 5, 4},
       "text_config.rope_parameters.mrope_section: expected numbers whose sum is 16 (head_dim / "
       "2), found 15"},
      {"qwen3vl", "vision_config.deepstack_visual_indexes", io::Json::Array{0, 4},
       "vision_config.deepstack_visual_indexes[1]: expected an integer from 0 to 3, found 4"},
      {"qwen3vl", "vision_config.deepstack_visual_indexes", io::Json::Array{1, 1},
       "vision_config.deepstack_visual_indexes[1]: expected a number above 1 (ascending order), "
       "found 1"},
      {"qwen3vl", "vision_config.deepstack_visual_indexes", nullptr,
       "vision_config.deepstack_visual_indexes: expected a value, found nothing"},
      {"qwen3vl", "vision_config.out_hidden_size", 32,
       "vision_config.out_hidden_size: expected 64 (the text model's hidden_size), found 32"},
      {"qwen3vl", "vision_config.num_position_embeddings", 63,
       "vision_config.num_position_embeddings: expected a square number, found 63"},
      {"qwen3vl", "vision_config.rope_parameters.rope_type", "default",
       "vision_config.rope_parameters.rope_type: expected \"axial\", found \"default\""},
      {"qwen3vl-moe", "text_config.num_local_experts", 0,
       "text_config.num_local_experts: expected an integer from 1 to 65536, found 0"},
      {"qwen3vl-moe", "text_config.num_experts_per_tok", 9,
       "text_config.num_experts_per_tok: expected an integer from 1 to 8, found 9"},
      {"qwen3vl-moe", "text_config.norm_topk_prob", false,
       "text_config.norm_topk_prob: expected true (transformers always normalises the chosen "
       "weights), found false"},
      {"qwen3vl-moe", "text_config.mlp_only_layers", io::Json::Array{4},
       "text_config.mlp_only_layers[0]: expected an integer from 0 to 3, found 4"},
  };
  for (const Wrong& wrong : all) {
    EXPECT_EQ(error_of(wrong.model, wrong.path, wrong.value),
              std::string("config.json: ") + wrong.message);
  }
}

// More features than language layers to add them after.
TEST(Config, MoreDeepstackThanLayers) {
  io::Json json = stored_config("qwen3vl");
  set(json, "text_config.num_hidden_layers", 2);
  try {
    parse_config(json, "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "config.json: vision_config.deepstack_visual_indexes: expected at most 2 entries "
                 "(num_hidden_layers), found 3");
  }
}

}  // namespace
}  // namespace sightline::qwen3_vl
