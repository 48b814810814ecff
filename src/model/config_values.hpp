// What the families read alike from config.json: bounds, fields that may have one value only, and
// the sizes of the vision tower. Every fault is an Error(invalid_config) that names the field's
// path. Free functions over io::JsonReader.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"
#include "nn/vision_block.hpp"

namespace sightline::model {

// Far above any published value (vocabulary 248,320; hidden 5,120; 94 layers; 512 experts), far
// below overflow when multiplied.
inline constexpr std::int64_t kMaxWidth = 1 << 20;
inline constexpr std::int64_t kMaxVocabulary = 1 << 24;
inline constexpr std::int64_t kMaxLayers = 4096;
inline constexpr std::int64_t kMaxExperts = 1 << 16;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;
inline constexpr double kMaxTheta = 1e12;

/// A required size, 1 to kMaxWidth.
std::int64_t width(const io::JsonReader& object, std::string_view key);
/// A token id, `fallback` without the field.
std::int32_t token_id(const io::JsonReader& object, std::string_view key, std::int32_t fallback);
/// eos_token_id: one id, a list, or none.
std::vector<std::int32_t> eos_ids(const io::JsonReader& text);
/// mrope_section of rope parameters: frequencies that follow T, H and W; `fallback` without it.
std::array<std::int64_t, 3> mrope_section(const io::JsonReader& rope,
                                          const std::array<std::int64_t, 3>& fallback);

/// The field, where it is given, must be `expected`.
void require_text(const io::JsonReader& object, std::string_view key, const std::string& expected);
/// The same; `why` stands in the message.
void require_flag(const io::JsonReader& object, std::string_view key, bool expected,
                  const std::string& why);

/// vision_config, as far as the towers of the families are alike.
struct VisionConfig {
  std::string_view family;  ///< prefix of transformers' class names, e.g. "Qwen3_5"
  std::int64_t depth = 0, hidden_size = 0, intermediate_size = 0, num_heads = 0, in_channels = 0;
  std::int64_t patch_size = 0, temporal_patch_size = 0, spatial_merge_size = 0, out_hidden_size = 0;
  std::int64_t num_position_embeddings = 0;

  [[nodiscard]] nn::VisionShape shape() const;
};

/// Reads and checks it; `text_hidden_size` is what out_hidden_size must be. Not read: model_type,
/// deepstack_visual_indexes.
VisionConfig read_vision_config(const io::JsonReader& vision, std::string_view family,
                                std::int64_t text_hidden_size);

}  // namespace sightline::model
