// Reading and checking (config_values.hpp).
#include "model/config_values.hpp"

#include <fmt/format.h>

namespace sightline::model {
namespace {

using io::JsonReader;

void check_vision(const JsonReader& vision, const VisionConfig& config,
                  std::int64_t text_hidden_size) {
  require_text(vision, "hidden_act", "gelu_pytorch_tanh");
  if (config.out_hidden_size != text_hidden_size) {
    vision.at("out_hidden_size")
        .fail(fmt::format("{} (the text model's hidden_size)", text_hidden_size),
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

}  // namespace

std::int64_t width(const JsonReader& object, std::string_view key) {
  return object.at(key).integer(1, kMaxWidth);
}

std::int32_t token_id(const JsonReader& object, std::string_view key, std::int32_t fallback) {
  if (!object.has(key)) return fallback;
  return static_cast<std::int32_t>(object.at(key).integer(0, kMaxVocabulary));
}

std::vector<std::int32_t> eos_ids(const JsonReader& text) {
  std::vector<std::int32_t> ids;
  if (!text.has("eos_token_id")) return ids;
  const JsonReader eos = text.at("eos_token_id");
  if (!eos.value().is_array()) return {static_cast<std::int32_t>(eos.integer(0, kMaxVocabulary))};
  for (std::size_t i = 0; i < eos.size(); ++i)
    ids.push_back(static_cast<std::int32_t>(eos.at(i).integer(0, kMaxVocabulary)));
  return ids;
}

std::array<std::int64_t, 3> mrope_section(const JsonReader& rope,
                                          const std::array<std::int64_t, 3>& fallback) {
  if (!rope.has("mrope_section")) return fallback;
  const JsonReader section = rope.at("mrope_section");
  if (section.size() != 3)
    section.fail("3 numbers (temporal, height, width)", std::to_string(section.size()));
  std::array<std::int64_t, 3> frequencies{};
  for (std::size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = section.at(i).integer(0, kMaxWidth);
  return frequencies;
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

nn::VisionShape VisionConfig::shape() const {
  return {family,     hidden_size,        intermediate_size,
          num_heads,  in_channels,        temporal_patch_size,
          patch_size, spatial_merge_size, out_hidden_size};
}

VisionConfig read_vision_config(const JsonReader& vision, std::string_view family,
                                std::int64_t text_hidden_size) {
  VisionConfig config;
  config.family = family;
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
  check_vision(vision, config, text_hidden_size);
  return config;
}

}  // namespace sightline::model
