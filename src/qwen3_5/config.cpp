// Parsing config.json (config.hpp). Limits are sanity bounds that keep every later size computation
// inside 64 bits.
#include "qwen3_5/config.hpp"

#include <fmt/format.h>

#include <utility>

namespace sightline::qwen3_5 {
namespace {

using io::JsonReader;

// Far above any published value (vocabulary 248,320; hidden 5,120; 94 layers; 512 experts), far
// below overflow
// when multiplied.
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxExperts = 1 << 16;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;

/// A model type of the family, and what transformers' classes are called for it.
struct Family {
  std::string_view model_type, class_prefix;
  bool has_experts = false;
};
constexpr std::array kFamilies{Family{"qwen3_5", "Qwen3_5", false},
                               Family{"qwen3_5_moe", "Qwen3_5Moe", true}};

std::int64_t width(const JsonReader& object, std::string_view key) {
  return object.at(key).integer(1, kMaxWidth);
}

std::int32_t token_id(const JsonReader& object, std::string_view key) {
  return object.has(key) ? static_cast<std::int32_t>(object.at(key).integer(0, kMaxVocabulary))
                         : -1;
}

void require_text(const JsonReader& object, std::string_view key, const std::string& expected) {
  if (!object.has(key)) return;
  const JsonReader member = object.at(key);
  if (member.string() != expected)
    member.fail("\"" + expected + "\"", "\"" + member.string() + "\"");
}

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
  constexpr double kMaxTheta = 1e12;
  parameters.rope_theta =
      (rope.has("rope_theta") ? rope : text).at("rope_theta").number(1.0, kMaxTheta);
  const JsonReader& factor = rope.has("partial_rotary_factor") ? rope : text;
  parameters.partial_rotary_factor = factor.has("partial_rotary_factor")
                                         ? factor.at("partial_rotary_factor").number(0.0, 1.0)
                                         : kDefaultFactor;
  parameters.mrope_section = kDefaultSection;
  if (rope.has("mrope_section")) {
    const JsonReader section = rope.at("mrope_section");
    if (section.size() != 3)
      section.fail("3 numbers (temporal, height, width)", std::to_string(section.size()));
    for (std::size_t i = 0; i < 3; ++i)
      parameters.mrope_section[i] = section.at(i).integer(0, kMaxWidth);
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
  if (text.has("attention_bias") && text.at("attention_bias").boolean()) {
    text.at("attention_bias").fail("false (no published model has text biases)", "true");
  }
  if (text.has("attn_output_gate") && !text.at("attn_output_gate").boolean()) {
    text.at("attn_output_gate").fail("true (transformers always gates)", "false");
  }
  require_text(text, "hidden_act", "silu");
}

void parse_experts(const JsonReader& text, TextConfig& config) {
  config.num_experts = text.at("num_experts").integer(1, kMaxExperts);
  config.num_experts_per_tok = text.at("num_experts_per_tok").integer(1, config.num_experts);
  config.moe_intermediate_size = width(text, "moe_intermediate_size");
  config.shared_expert_intermediate_size = width(text, "shared_expert_intermediate_size");
  if (text.has("norm_topk_prob") && !text.at("norm_topk_prob").boolean()) {
    text.at("norm_topk_prob").fail("true (transformers always renormalises)", "false");
  }
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
  config.eos_token_id = parse_eos(text);
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
  VisionConfig config;
  config.family = family.class_prefix;
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
  require_text(vision, "hidden_act", "gelu_pytorch_tanh");
  if (config.out_hidden_size != hidden_size) {
    vision.at("out_hidden_size")
        .fail(fmt::format("{} (the text model's hidden_size)", hidden_size),
              std::to_string(config.out_hidden_size));
  }
  // Half of a head's frequency pairs turn with the row, half with the column: head_dim must divide
  // by 4.
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
  if (vision.has("deepstack_visual_indexes") && vision.at("deepstack_visual_indexes").size() != 0) {
    vision.at("deepstack_visual_indexes").fail("[] (Qwen3.5 has no DeepStack)", "a non-empty list");
  }
  return config;
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

nn::VisionShape VisionConfig::shape() const {
  return {family,     hidden_size,        intermediate_size,
          num_heads,  in_channels,        temporal_patch_size,
          patch_size, spatial_merge_size, out_hidden_size};
}

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
  config.image_token_id = token_id(root, "image_token_id");
  config.video_token_id = token_id(root, "video_token_id");
  config.vision_start_token_id = token_id(root, "vision_start_token_id");
  config.vision_end_token_id = token_id(root, "vision_end_token_id");
  config.quantisation = io::parse_quantisation(root, file);
  return config;
}

}  // namespace sightline::qwen3_5
