// config.json of a Qwen3.5 checkpoint as plain structs. Fields are named as in the file. Every
// value is checked: an unknown model type, layer type, rope type or activation is an error that
// names its path, never a default. Specification 1.1 to 1.3.
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

namespace sightline::qwen3_5 {

enum class LayerType : std::uint8_t { linear_attention, full_attention };

struct RopeParameters {
  double rope_theta = 0, partial_rotary_factor = 0;
  std::array<std::int64_t, 3> mrope_section{};
};

struct TextConfig {
  std::string_view family = "Qwen3_5";  ///< prefix of transformers' class names
  std::int64_t vocab_size = 0, hidden_size = 0, num_hidden_layers = 0;
  std::int64_t intermediate_size = 0;  ///< dense models only
  // Mixture-of-experts models only; num_experts is 0 in the dense ones.
  std::int64_t num_experts = 0, num_experts_per_tok = 0;
  std::int64_t moe_intermediate_size = 0, shared_expert_intermediate_size = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 0;
  std::vector<LayerType> layer_types;
  std::int64_t linear_conv_kernel_dim = 0, linear_key_head_dim = 0, linear_value_head_dim = 0;
  std::int64_t linear_num_key_heads = 0, linear_num_value_heads = 0;
  RopeParameters rope_parameters;
  std::vector<std::int32_t> eos_token_id;
  std::int64_t mtp_num_hidden_layers = 0;  ///< informational: mtp.* tensors are never run

  [[nodiscard]] bool has_experts() const { return num_experts > 0; }
  /// transformers' class, e.g. "Qwen3_5MoeAttention" for "Attention".
  [[nodiscard]] std::string class_name(std::string_view name) const {
    return std::string(family) + std::string(name);
  }
  /// Dimensions of a head that are rotated.
  [[nodiscard]] std::int64_t rotary_dim() const {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) *
                                     rope_parameters.partial_rotary_factor);
  }
  [[nodiscard]] std::int64_t key_width() const {
    return linear_num_key_heads * linear_key_head_dim;
  }
  [[nodiscard]] std::int64_t value_width() const {
    return linear_num_value_heads * linear_value_head_dim;
  }
  /// C of the specification: q, k and v of Gated DeltaNet side by side.
  [[nodiscard]] std::int64_t conv_width() const { return 2 * key_width() + value_width(); }
};

using model::VisionConfig;

struct Config {
  std::string model_type;
  TextConfig text_config;
  std::optional<VisionConfig> vision_config;
  bool tie_word_embeddings = false;  ///< informational: the presence of lm_head.weight decides
  bool text_only = false;  ///< flat export of the language model: its tensors lie below "model."
  bool language_model_only = false;  ///< a vision tower, if there is one, is left alone
  std::int32_t image_token_id = -1, video_token_id = -1, vision_start_token_id = -1,
               vision_end_token_id = -1;
  std::shared_ptr<const io::Quantisation> quantisation;  ///< null: stored as trained
};

/// Parses a config.json document of a Qwen3.5 model, dense (`qwen3_5`) or mixture of experts
/// (`qwen3_5_moe`), or of its language model alone (`qwen3_5_text`, `qwen3_5_moe_text`); `file`
/// names it in messages. Throws Error(invalid_config, unsupported_model).
Config parse_config(const io::Json& json, const std::string& file);

}  // namespace sightline::qwen3_5
