// The published sizes of the family: their figures, and the config.json that they make. What
// `sightline models` lists, and what a shape's name stands for in trace --shapes-only, inspect,
// graph, plan and synth.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/json.hpp"

namespace sightline::audit {

/// One published size. Figures that all sizes share are in published_config(); source: the
/// repositories' config.json files, as collected in specification 1.2 to 1.4.
struct FamilyMember {
  std::string_view name;        ///< "qwen3.5-2b"
  std::string_view repository;  ///< "Qwen/Qwen3.5-2B"
  std::int64_t hidden_size, num_hidden_layers;
  std::int64_t intermediate_size;  ///< of the dense feed-forward; 0 for mixtures of experts
  std::int64_t num_attention_heads, num_key_value_heads, linear_num_value_heads;
  bool tie_word_embeddings;
  std::int64_t num_experts, num_experts_per_tok, moe_intermediate_size;  ///< 0 for dense models
  std::int64_t vision_depth, vision_hidden_size, vision_num_heads, vision_intermediate_size;

  /// When these figures were last compared with the published files, "2026-11-03"; empty if nobody
  /// wrote it down.
  std::string_view checked = {};

  [[nodiscard]] bool is_moe() const { return num_experts > 0; }
};

/// The class that the published processor files name (specification 2, 3).
inline constexpr std::string_view kPublishedProcessor = "Qwen3VLProcessor";

/// In ascending size.
std::span<const FamilyMember> family();
/// The member with this name (letter case does not matter); null if there is none.
const FamilyMember* find_member(std::string_view name);
/// Its config.json.
io::Json published_config(const FamilyMember& member);
/// preprocessor_config.json and video_preprocessor_config.json, alike in all repositories.
io::Json published_image_processor();
io::Json published_video_processor();

}  // namespace sightline::audit
