// Parsing config.json (config.hpp).
#include "qwen3_vl/config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sightline::qwen3_vl {
namespace {

using io::JsonReader;
using model::kMaxExperts;
using model::kMaxLayers;
using model::kMaxPositions;
using model::kMaxTheta;
using model::kMaxVocabulary;
using model::require_flag;
using model::require_text;
using model::token_id;
using model::width;

RopeParameters parse_rope(const JsonReader& text, std::int64_t head_dim) {
  // The published files spell it rope_scaling, with rope_theta beside it; transformers saves
  // rope_parameters. Its fallback for a missing section is that of the published heads.
  constexpr std::array<std::int64_t, 3> kDefaultSection{24, 20, 20};
  const bool legacy = !text.has("rope_parameters") && text.has("rope_scaling");
  const JsonReader rope = text.at(legacy ? "rope_scaling" : "rope_parameters");
  for (const char* key : {"rope_type", "type"}) require_text(rope, key, "default");
  require_flag(rope, "mrope_interleaved", true, "transformers always interleaves the axes");
  RopeParameters parameters;
  parameters.rope_theta =
      (rope.has("rope_theta") ? rope : text).at("rope_theta").number(1.0, kMaxTheta);
  parameters.mrope_section = model::mrope_section(rope, kDefaultSection);
  const auto& [t, h, w] = parameters.mrope_section;
  if (t + h + w != head_dim / 2) {
    rope.at("mrope_section")
        .fail(fmt::format("numbers whose sum is {} (head_dim / 2)", head_dim / 2),
              std::to_string(t + h + w));
  }
  return parameters;
}

void parse_experts(const JsonReader& text, TextConfig& config) {
  // transformers writes num_local_experts for what the published files call num_experts.
  const char* count = text.has("num_experts") ? "num_experts" : "num_local_experts";
  config.num_experts = text.at(count).integer(1, kMaxExperts);
  config.num_experts_per_tok = text.at("num_experts_per_tok").integer(1, config.num_experts);
  config.moe_intermediate_size = width(text, "moe_intermediate_size");
  require_flag(text, "norm_topk_prob", true, "transformers always normalises the chosen weights");
  if (text.has("decoder_sparse_step"))
    config.decoder_sparse_step = text.at("decoder_sparse_step").integer(1, kMaxLayers);
  if (!text.has("mlp_only_layers")) return;
  const JsonReader layers = text.at("mlp_only_layers");
  for (std::size_t i = 0; i < layers.size(); ++i)
    config.mlp_only_layers.push_back(layers.at(i).integer(0, config.num_hidden_layers - 1));
}

TextConfig parse_text(const JsonReader& text, bool moe) {
  require_text(text, "model_type", moe ? "qwen3_vl_moe_text" : "qwen3_vl_text");
  TextConfig config;
  config.family = moe ? "Qwen3VLMoe" : "Qwen3VL";
  config.vocab_size = text.at("vocab_size").integer(1, kMaxVocabulary);
  config.hidden_size = width(text, "hidden_size");
  config.num_hidden_layers = text.at("num_hidden_layers").integer(1, kMaxLayers);
  config.num_attention_heads = width(text, "num_attention_heads");
  config.num_key_value_heads = width(text, "num_key_value_heads");
  config.head_dim = width(text, "head_dim");
  config.max_position_embeddings = text.at("max_position_embeddings").integer(1, kMaxPositions);
  config.rms_norm_eps = text.at("rms_norm_eps").number(0.0, 1.0);
  config.eos_token_id = model::eos_ids(text);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    text.at("num_attention_heads")
        .fail(fmt::format("a multiple of {}", config.num_key_value_heads),
              std::to_string(config.num_attention_heads));
  }
  if (config.head_dim % 2 != 0)
    text.at("head_dim").fail("an even number", std::to_string(config.head_dim));
  config.rope_parameters = parse_rope(text, config.head_dim);
  require_flag(text, "attention_bias", false, "no published model has text biases");
  require_flag(text, "use_sliding_window", false, "no published model has a window");
  require_text(text, "hidden_act", "silu");
  if (moe) parse_experts(text, config);
  bool dense_layers = false;
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
    dense_layers = dense_layers || !config.is_sparse(i);
  if (dense_layers) config.intermediate_size = width(text, "intermediate_size");
  return config;
}

// DeepStack: which blocks are looked at; the k-th feature is added after language layer k.
std::vector<std::int64_t> parse_deepstack(const JsonReader& vision, std::int64_t depth,
                                          std::int64_t text_layers) {
  const JsonReader list = vision.at("deepstack_visual_indexes");
  std::vector<std::int64_t> indexes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t index = list.at(i).integer(0, depth - 1);
    if (!indexes.empty() && index <= indexes.back()) {
      list.at(i).fail(fmt::format("a number above {} (ascending order)", indexes.back()),
                      std::to_string(index));
    }
    indexes.push_back(index);
  }
  if (static_cast<std::int64_t>(indexes.size()) > text_layers) {
    list.fail(fmt::format("at most {} entries (num_hidden_layers)", text_layers),
              std::to_string(indexes.size()));
  }
  return indexes;
}

VisionConfig parse_vision(const JsonReader& vision, const TextConfig& text) {
  VisionConfig config{model::read_vision_config(vision, text.family, text.hidden_size), {}};
  config.deepstack_visual_indexes = parse_deepstack(vision, config.depth, text.num_hidden_layers);
  return config;
}

}  // namespace

bool TextConfig::is_sparse(std::int64_t layer) const {
  return num_experts > 0 && (layer + 1) % decoder_sparse_step == 0 &&
         std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer) == mlp_only_layers.end();
}

Config parse_config(const io::Json& json, const std::string& file) {
  const JsonReader root(json, file, "", Code::invalid_config);
  Config config;
  config.model_type = root.at("model_type").string();
  const bool moe = config.model_type == "qwen3_vl_moe";
  if (!moe && config.model_type != "qwen3_vl") {
    const std::string known = "\"qwen3_vl\" or \"qwen3_vl_moe\"";
    throw Error(
        Code::unsupported_model,
        fmt::format("{}: model_type: expected {}, found \"{}\"", file, known, config.model_type),
        {{"file", file},
         {"path", "model_type"},
         {"expected", known},
         {"found", config.model_type}});
  }
  config.text_config = parse_text(root.at("text_config"), moe);
  if (root.has("vision_config"))
    config.vision_config = parse_vision(root.at("vision_config"), config.text_config);
  if (root.has("tie_word_embeddings"))
    config.tie_word_embeddings = root.at("tie_word_embeddings").boolean();
  // transformers' defaults are the published ids (specification 10).
  constexpr std::int32_t kImage = 151655, kVideo = 151656, kStart = 151652, kEnd = 151653;
  config.image_token_id = token_id(root, "image_token_id", kImage);
  config.video_token_id = token_id(root, "video_token_id", kVideo);
  config.vision_start_token_id = token_id(root, "vision_start_token_id", kStart);
  config.vision_end_token_id = token_id(root, "vision_end_token_id", kEnd);
  config.quantisation = io::parse_quantisation(root, file);
  return config;
}

}  // namespace sightline::qwen3_vl
