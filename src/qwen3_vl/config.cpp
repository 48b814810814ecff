// Parsing config.json (config.hpp). Limits are sanity bounds that keep every later size computation
// inside 64 bits.
#include "qwen3_vl/config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sightline::qwen3_vl {
namespace {

using io::JsonReader;

// Far above any published value (vocabulary 151,936; hidden 5,120; 94 layers; 128 experts), far
// below overflow when multiplied.
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxExperts = 1 << 16;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;

std::int64_t width(const JsonReader& object, std::string_view key) {
  return object.at(key).integer(1, kMaxWidth);
}

void require_text(const JsonReader& object, std::string_view key, const std::string& expected) {
  if (!object.has(key)) return;
  const JsonReader member = object.at(key);
  if (member.string() != expected)
    member.fail("\"" + expected + "\"", "\"" + member.string() + "\"");
}

void require_flag(const JsonReader& object, std::string_view key, bool expected,
                  const std::string& why) {
  if (!object.has(key) || object.at(key).boolean() == expected) return;
  object.at(key).fail(fmt::format("{} ({})", expected, why), fmt::format("{}", !expected));
}

RopeParameters parse_rope(const JsonReader& text, std::int64_t head_dim) {
  // The published files spell it rope_scaling, with rope_theta beside it; transformers saves
  // rope_parameters. Its fallback for a missing section is that of the published heads.
  constexpr std::array<std::int64_t, 3> kDefaultSection{24, 20, 20};
  const bool legacy = !text.has("rope_parameters") && text.has("rope_scaling");
  const JsonReader rope = text.at(legacy ? "rope_scaling" : "rope_parameters");
  for (const char* key : {"rope_type", "type"}) require_text(rope, key, "default");
  require_flag(rope, "mrope_interleaved", true, "transformers always interleaves the axes");
  RopeParameters parameters;
  constexpr double kMaxTheta = 1e12;
  parameters.rope_theta =
      (rope.has("rope_theta") ? rope : text).at("rope_theta").number(1.0, kMaxTheta);
  parameters.mrope_section = kDefaultSection;
  if (rope.has("mrope_section")) {
    const JsonReader section = rope.at("mrope_section");
    if (section.size() != 3)
      section.fail("3 numbers (temporal, height, width)", std::to_string(section.size()));
    for (std::size_t i = 0; i < 3; ++i)
      parameters.mrope_section[i] = section.at(i).integer(0, kMaxWidth);
  }
  const auto& [t, h, w] = parameters.mrope_section;
  if (t + h + w != head_dim / 2) {
    rope.at("mrope_section")
        .fail(fmt::format("numbers whose sum is {} (head_dim / 2)", head_dim / 2),
              std::to_string(t + h + w));
  }
  return parameters;
}

std::vector<std::int32_t> parse_eos(const JsonReader& text) {
  std::vector<std::int32_t> ids;
  if (!text.has("eos_token_id")) return ids;
  const JsonReader eos = text.at("eos_token_id");
  if (!eos.value().is_array()) return {static_cast<std::int32_t>(eos.integer(0, kMaxVocabulary))};
  for (std::size_t i = 0; i < eos.size(); ++i)
    ids.push_back(static_cast<std::int32_t>(eos.at(i).integer(0, kMaxVocabulary)));
  return ids;
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
  config.eos_token_id = parse_eos(text);
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

void check_vision(const JsonReader& vision, const VisionConfig& config, std::int64_t hidden_size) {
  require_text(vision, "hidden_act", "gelu_pytorch_tanh");
  if (config.out_hidden_size != hidden_size) {
    vision.at("out_hidden_size")
        .fail(fmt::format("{} (the text model's hidden_size)", hidden_size),
              std::to_string(config.out_hidden_size));
  }
  // Half of a head's frequency pairs turn with the row, half with the column.
  if (config.hidden_size % config.num_heads != 0 ||
      (config.hidden_size / config.num_heads) % 4 != 0) {
    vision.at("num_heads")
        .fail("hidden_size / num_heads to be a multiple of 4", std::to_string(config.num_heads));
  }
  std::int64_t side = 1;
  while (side * side < config.num_position_embeddings) ++side;
  if (side * side != config.num_position_embeddings) {
    vision.at("num_position_embeddings")
        .fail("a square number", std::to_string(config.num_position_embeddings));
  }
  if (!vision.has("rope_parameters")) return;
  const JsonReader rope = vision.at("rope_parameters");
  require_text(rope, "rope_type", "axial");
  constexpr double kTheta = 10000.0;  // nn::VisionRotaryEmbedding, specification 5.3
  if (rope.has("rope_theta")) (void)rope.at("rope_theta").number(kTheta, kTheta);
}

VisionConfig parse_vision(const JsonReader& vision, const TextConfig& text) {
  VisionConfig config;
  config.family = text.family;
  config.depth = vision.at("depth").integer(1, kMaxLayers);
  config.hidden_size = width(vision, "hidden_size");
  config.intermediate_size = width(vision, "intermediate_size");
  config.num_heads = width(vision, "num_heads");
  config.in_channels = vision.at("in_channels").integer(3, 3);
  constexpr std::int64_t kMaxPatch = 256;
  config.patch_size = vision.at("patch_size").integer(1, kMaxPatch);
  config.temporal_patch_size = vision.at("temporal_patch_size").integer(1, kMaxPatch);
  config.spatial_merge_size = vision.at("spatial_merge_size").integer(1, kMaxPatch);
  config.out_hidden_size = width(vision, "out_hidden_size");
  config.num_position_embeddings = width(vision, "num_position_embeddings");
  config.deepstack_visual_indexes = parse_deepstack(vision, config.depth, text.num_hidden_layers);
  check_vision(vision, config, text.hidden_size);
  return config;
}

}  // namespace

bool TextConfig::is_sparse(std::int64_t layer) const {
  return num_experts > 0 && (layer + 1) % decoder_sparse_step == 0 &&
         std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer) == mlp_only_layers.end();
}

nn::VisionShape VisionConfig::shape() const {
  return {family,     hidden_size,        intermediate_size,
          num_heads,  in_channels,        temporal_patch_size,
          patch_size, spatial_merge_size, out_hidden_size};
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
  const auto id = [&](const char* key, std::int32_t fallback) {
    return root.has(key) ? static_cast<std::int32_t>(root.at(key).integer(0, kMaxVocabulary))
                         : fallback;
  };
  config.image_token_id = id("image_token_id", kImage);
  config.video_token_id = id("video_token_id", kVideo);
  config.vision_start_token_id = id("vision_start_token_id", kStart);
  config.vision_end_token_id = id("vision_end_token_id", kEnd);
  config.quantisation = io::parse_quantisation(root, file);
  return config;
}

}  // namespace sightline::qwen3_vl
