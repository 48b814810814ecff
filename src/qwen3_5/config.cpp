// Parsing config.json (config.hpp).
#include "qwen3_5/config.hpp"

#include <fmt/format.h>

#include <utility>

namespace sightline::qwen3_5 {
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

/// A model type of the family, and what transformers' classes are called for it.
struct Family {
  std::string_view model_type, class_prefix;
  bool has_experts = false;
};
constexpr std::array kFamilies{Family{"qwen3_5", "Qwen3_5", false},
                               Family{"qwen3_5_moe", "Qwen3_5Moe", true}};

std::vector<LayerType> parse_layer_types(const JsonReader& text, std::int64_t layers) {
  std::vector<LayerType> types;
  if (!text.has("layer_types")) {
    // Derived as transformers does: layer i is full attention iff (i + 1) mod interval = 0.
    constexpr std::int64_t kDefaultInterval = 4;
    const std::int64_t interval = text.has("full_attention_interval")
                                      ? text.at("full_attention_interval").integer(1, kMaxLayers)
                                      : kDefaultInterval;
    for (std::int64_t i = 0; i < layers; ++i) {
      types.push_back((i + 1) % interval == 0 ? LayerType::full_attention
                                              : LayerType::linear_attention);
    }
    return types;
  }
  const JsonReader list = text.at("layer_types");
  if (list.size() != static_cast<std::size_t>(layers)) {
    list.fail(fmt::format("{} entries (num_hidden_layers)", layers), std::to_string(list.size()));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader entry = list.at(i);
    if (entry.string() == "linear_attention") {
      types.push_back(LayerType::linear_attention);
    } else if (entry.string() == "full_attention") {
      types.push_back(LayerType::full_attention);
    } else {
      entry.fail("\"linear_attention\" or \"full_attention\"", "\"" + entry.string() + "\"");
    }
  }
  return types;
}

RopeParameters parse_rope(const JsonReader& text) {
  // transformers' fallbacks when a key is absent; the legacy spelling is rope_scaling with
  // rope_theta beside it.
  constexpr double kDefaultFactor = 0.25;
  constexpr std::array<std::int64_t, 3> kDefaultSection{11, 11, 10};
  const bool legacy = !text.has("rope_parameters") && text.has("rope_scaling");
  const JsonReader rope = text.at(legacy ? "rope_scaling" : "rope_parameters");
  for (const char* key : {"rope_type", "type"}) {
    if (rope.has(key) && rope.at(key).string() != "mrope") require_text(rope, key, "default");
  }
  RopeParameters parameters;
  parameters.rope_theta =
      (rope.has("rope_theta") ? rope : text).at("rope_theta").number(1.0, kMaxTheta);
  const JsonReader& factor = rope.has("partial_rotary_factor") ? rope : text;
  parameters.partial_rotary_factor = factor.has("partial_rotary_factor")
                                         ? factor.at("partial_rotary_factor").number(0.0, 1.0)
                                         : kDefaultFactor;
  parameters.mrope_section = model::mrope_section(rope, kDefaultSection);
  return parameters;
}

void check_text(const JsonReader& text, const TextConfig& config) {
  const auto multiple = [&](const char* key, std::int64_t value, std::int64_t of) {
    if (value % of != 0)
      text.at(key).fail(fmt::format("a multiple of {}", of), std::to_string(value));
  };
  multiple("num_attention_heads", config.num_attention_heads, config.num_key_value_heads);
  multiple("linear_num_value_heads", config.linear_num_value_heads, config.linear_num_key_heads);
  const std::int64_t rotary = config.rotary_dim();
  if (rotary < 2 || rotary % 2 != 0) {
    text.at("head_dim")
        .fail("an even number of at least 2 rotated dimensions (head_dim · partial_rotary_factor)",
              std::to_string(rotary));
  }
  require_flag(text, "attention_bias", false, "no published model has text biases");
  require_flag(text, "attn_output_gate", true, "transformers always gates");
  require_text(text, "hidden_act", "silu");
}

void parse_experts(const JsonReader& text, TextConfig& config) {
  config.num_experts = text.at("num_experts").integer(1, kMaxExperts);
  config.num_experts_per_tok = text.at("num_experts_per_tok").integer(1, config.num_experts);
  config.moe_intermediate_size = width(text, "moe_intermediate_size");
  config.shared_expert_intermediate_size = width(text, "shared_expert_intermediate_size");
  require_flag(text, "norm_topk_prob", true, "transformers always renormalises");
  if (text.has("mlp_only_layers") && text.at("mlp_only_layers").size() != 0) {
    text.at("mlp_only_layers").fail("[] (every layer has experts)", "a non-empty list");
  }
}

TextConfig parse_text(const JsonReader& text, const Family& family) {
  require_text(text, "model_type", std::string(family.model_type) + "_text");
  TextConfig config;
  config.family = family.class_prefix;
  config.vocab_size = text.at("vocab_size").integer(1, kMaxVocabulary);
  config.hidden_size = width(text, "hidden_size");
  if (family.has_experts) {
    parse_experts(text, config);
  } else {
    config.intermediate_size = width(text, "intermediate_size");
  }
  config.num_hidden_layers = text.at("num_hidden_layers").integer(1, kMaxLayers);
  config.num_attention_heads = width(text, "num_attention_heads");
  config.num_key_value_heads = width(text, "num_key_value_heads");
  config.head_dim = width(text, "head_dim");
  config.max_position_embeddings = text.at("max_position_embeddings").integer(1, kMaxPositions);
  config.rms_norm_eps = text.at("rms_norm_eps").number(0.0, 1.0);
  config.layer_types = parse_layer_types(text, config.num_hidden_layers);
  constexpr std::int64_t kMaxTaps = 64;
  config.linear_conv_kernel_dim = text.at("linear_conv_kernel_dim").integer(1, kMaxTaps);
  config.linear_key_head_dim = width(text, "linear_key_head_dim");
  config.linear_value_head_dim = width(text, "linear_value_head_dim");
  config.linear_num_key_heads = width(text, "linear_num_key_heads");
  config.linear_num_value_heads = width(text, "linear_num_value_heads");
  config.rope_parameters = parse_rope(text);
  config.eos_token_id = model::eos_ids(text);
  if (text.has("mtp_num_hidden_layers"))
    config.mtp_num_hidden_layers = text.at("mtp_num_hidden_layers").integer(0, kMaxLayers);
  check_text(text, config);
  return config;
}

VisionConfig parse_vision(const JsonReader& vision, const Family& family,
                          std::int64_t hidden_size) {
  // Files written before transformers gave the tower a type of its own repeat the model's.
  if (!vision.has("model_type") || vision.at("model_type").string() != family.model_type)
    require_text(vision, "model_type", std::string(family.model_type) + "_vision");
  if (vision.has("deepstack_visual_indexes") && vision.at("deepstack_visual_indexes").size() != 0) {
    vision.at("deepstack_visual_indexes").fail("[] (Qwen3.5 has no DeepStack)", "a non-empty list");
  }
  return model::read_vision_config(vision, family.class_prefix, hidden_size);
}

// The family that a model type belongs to, and whether it is its language model alone.
std::pair<const Family&, bool> parse_family(const JsonReader& root, const std::string& file) {
  const std::string found = root.at("model_type").string();
  std::string expected;
  for (const Family& family : kFamilies) {
    const std::string whole(family.model_type), text = whole + "_text";
    if (found == whole || found == text) return {family, found == text};
    expected += fmt::format("{}\"{}\", \"{}\"", expected.empty() ? "" : ", ", whole, text);
  }
  throw Error(
      Code::unsupported_model,
      fmt::format("{}: model_type: expected one of {}, found \"{}\"", file, expected, found),
      {{"file", file}, {"path", "model_type"}, {"expected", expected}, {"found", found}});
}

}  // namespace

Config parse_config(const io::Json& json, const std::string& file) {
  const JsonReader root(json, file, "", Code::invalid_config);
  Config config;
  const auto [family, text_only] = parse_family(root, file);
  config.model_type = root.at("model_type").string();
  config.text_only = text_only;
  config.text_config = parse_text(text_only ? root : root.at("text_config"), family);
  if (root.has("language_model_only"))
    config.language_model_only = root.at("language_model_only").boolean();
  if (root.has("vision_config") && !text_only && !config.language_model_only) {
    config.vision_config =
        parse_vision(root.at("vision_config"), family, config.text_config.hidden_size);
  }
  if (root.has("tie_word_embeddings"))
    config.tie_word_embeddings = root.at("tie_word_embeddings").boolean();
  constexpr std::int32_t kNoToken = -1;
  config.image_token_id = token_id(root, "image_token_id", kNoToken);
  config.video_token_id = token_id(root, "video_token_id", kNoToken);
  config.vision_start_token_id = token_id(root, "vision_start_token_id", kNoToken);
  config.vision_end_token_id = token_id(root, "vision_end_token_id", kNoToken);
  config.quantisation = io::parse_quantisation(root, file);
  return config;
}

}  // namespace sightline::qwen3_5
