// Names and shapes of the mtp.* tensors (mtp.hpp).
#include "qwen3_5/mtp.hpp"

#include <fmt/format.h>

namespace sightline::qwen3_5 {
namespace {

using Tensors = std::vector<io::NamedShape>;

void add_attention(const TextConfig& text, const std::string& path, Tensors& tensors) {
  const std::int64_t h = text.hidden_size, queries = text.num_attention_heads * text.head_dim,
                     keys = text.num_key_value_heads * text.head_dim;
  tensors.push_back({path + ".q_proj.weight", Shape{2 * queries, h}});  // queries and gates
  tensors.push_back({path + ".k_proj.weight", Shape{keys, h}});
  tensors.push_back({path + ".v_proj.weight", Shape{keys, h}});
  tensors.push_back({path + ".o_proj.weight", Shape{h, queries}});
  tensors.push_back({path + ".q_norm.weight", Shape{text.head_dim}});
  tensors.push_back({path + ".k_norm.weight", Shape{text.head_dim}});
}

/// gate, up and down projection of one feed-forward or expert.
void add_mlp(const std::string& path, std::int64_t hidden, std::int64_t inner, Tensors& tensors) {
  tensors.push_back({path + ".gate_proj.weight", Shape{inner, hidden}});
  tensors.push_back({path + ".up_proj.weight", Shape{inner, hidden}});
  tensors.push_back({path + ".down_proj.weight", Shape{hidden, inner}});
}

/// The mixture of experts, every expert by itself.
void add_experts(const TextConfig& text, const std::string& path, Tensors& tensors) {
  const std::int64_t h = text.hidden_size;
  tensors.push_back({path + ".gate.weight", Shape{text.num_experts, h}});
  for (std::int64_t e = 0; e < text.num_experts; ++e)
    add_mlp(fmt::format("{}.experts.{}", path, e), h, text.moe_intermediate_size, tensors);
  add_mlp(path + ".shared_expert", h, text.shared_expert_intermediate_size, tensors);
  tensors.push_back({path + ".shared_expert_gate.weight", Shape{1, h}});
}

}  // namespace

std::vector<io::NamedShape> mtp_tensors(const Config& config) {
  const TextConfig& text = config.text_config;
  const std::int64_t h = text.hidden_size;
  Tensors tensors;
  if (text.mtp_num_hidden_layers == 0) return tensors;
  tensors.push_back({"mtp.fc.weight", Shape{h, 2 * h}});
  tensors.push_back({"mtp.pre_fc_norm_embedding.weight", Shape{h}});
  tensors.push_back({"mtp.pre_fc_norm_hidden.weight", Shape{h}});
  for (std::int64_t i = 0; i < text.mtp_num_hidden_layers; ++i) {
    const std::string layer = fmt::format("mtp.layers.{}", i);
    add_attention(text, layer + ".self_attn", tensors);
    if (text.has_experts()) {
      add_experts(text, layer + ".mlp", tensors);
    } else {
      add_mlp(layer + ".mlp", h, text.intermediate_size, tensors);
    }
    tensors.push_back({layer + ".input_layernorm.weight", Shape{h}});
    tensors.push_back({layer + ".post_attention_layernorm.weight", Shape{h}});
  }
  tensors.push_back({"mtp.norm.weight", Shape{h}});
  return tensors;
}

}  // namespace sightline::qwen3_5
