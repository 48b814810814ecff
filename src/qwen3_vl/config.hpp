// config.json of a Qwen3-VL checkpoint, dense or mixture of experts, as plain structs. Fields are
// named as in the file. Every value is checked: what this version can not run is an error that
// names its path. Specification 1 and 10.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"
#include "io/quantisation.hpp"
#include "model/config_values.hpp"

namespace sightline::qwen3_vl {

struct RopeParameters {
  double rope_theta = 0;
  std::array<std::int64_t, 3> mrope_section{};  ///< frequencies that follow T, H and W
};

struct TextConfig {
  std::string_view family;  ///< prefix of transformers' classes: "Qwen3VL" or "Qwen3VLMoe"
  std::int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 0;
  RopeParameters rope_parameters;
  std::vector<std::int32_t> eos_token_id;
  // Mixtures of experts only.
  std::int64_t num_experts = 0, num_experts_per_tok = 0, moe_intermediate_size = 0;
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;

  /// True if this layer has experts. HF: Qwen3VLMoeTextDecoderLayer.__init__.
  [[nodiscard]] bool is_sparse(std::int64_t layer) const;
};

struct VisionConfig : model::VisionConfig {
  /// Blocks after which a DeepStack merger looks at the hidden rows, ascending.
  std::vector<std::int64_t> deepstack_visual_indexes;
};

struct Config {
  std::string model_type;
  TextConfig text_config;
  std::optional<VisionConfig> vision_config;
  bool tie_word_embeddings = false;  ///< informational: the presence of lm_head.weight decides
  std::int32_t image_token_id = 0, video_token_id = 0, vision_start_token_id = 0,
               vision_end_token_id = 0;
  std::shared_ptr<const io::Quantisation> quantisation;  ///< null: stored as trained

  /// Language layers after which DeepStack features are added.
  [[nodiscard]] std::int64_t deepstack_layers() const {
    return vision_config ? static_cast<std::int64_t>(vision_config->deepstack_visual_indexes.size())
                         : 0;
  }
};

/// Parses a config.json document; `file` names it in messages. Throws Error(invalid_config,
/// unsupported_model).
Config parse_config(const io::Json& json, const std::string& file);

}  // namespace sightline::qwen3_vl
