// The language model of Qwen3.5: class for class transformers' modeling_qwen3_5 and
// modeling_qwen3_5_moe (prefix Qwen3_5 or Qwen3_5Moe left out). Shapes: T rows of the batch (all
// segments), H hidden size. Const after load; all state is in Cache and Pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "model/vision_language_model.hpp"
#include "nn/linear.hpp"
#include "nn/norms.hpp"
#include "nn/rope.hpp"
#include "qwen3_5/config.hpp"
#include "qwen3_5/mlp.hpp"
#include "qwen3_5/moe.hpp"

namespace sightline::qwen3_5 {

/// What all layers of one forward share.
struct TextContext {
  std::span<const model::Segment> segments;
  ConstView cos, sin;  ///< (T, rotary_dim / 2)
};

/// Where a layer keeps the state of one segment: the cache, or a record when the cache must stay as
/// it is.
struct LayerSlot {
  std::size_t layer = 0;  ///< index into Cache::layers and StepRecord::layers
};

/// Splits q_proj's output: per head, head_dim values of the query, then head_dim of the gate.
/// both (T, heads · 2 · head_dim), query and gate (T, heads · head_dim).
void split_query_gate(ConstView both, std::int64_t head_dim, View query, View gate);

/// HF: Qwen3_5Attention: gated, grouped-query, partially rotated attention over the cache.
struct Attention {
  static Attention load(const io::Loader& loader, const TextConfig& config);
  void operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                  LayerSlot slot, View y, const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  nn::RmsNorm q_norm, k_norm;
  std::int64_t num_heads = 0, num_key_value_heads = 0, head_dim = 0;
};

/// HF: Qwen3_5GatedDeltaNet.
struct GatedDeltaNet {
  static GatedDeltaNet load(const io::Loader& loader, const TextConfig& config);
  void operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                  LayerSlot slot, View y, const nn::Where& where = nn::Where::current()) const;
  /// Replays recorded step rows [0, rows) into a layer's state.
  void commit(nn::Pass& pass, const model::StepRecord::Layer& record, std::int64_t rows,
              model::DeltaLayer& state) const;

  Site site;
  nn::Linear in_proj_qkv, in_proj_z, in_proj_b, in_proj_a, out_proj;
  Site conv1d_site;
  std::vector<float> conv1d;          ///< (C, width)
  std::vector<float> A_log, dt_bias;  ///< (value heads)
  nn::RmsNormGated norm;
  std::int64_t num_k_heads = 0, num_v_heads = 0, head_k_dim = 0, head_v_dim = 0,
               conv_kernel_size = 0;

 private:
  struct Rows;  // convolved rows and gates of one segment
  void mix(nn::Pass& pass, const model::Segment& segment, LayerSlot slot, const Rows& rows,
           View out) const;
};

/// HF: Qwen3_5DecoderLayer.
struct DecoderLayer {
  static DecoderLayer load(const io::Loader& loader, const TextConfig& config, LayerType type);
  /// hidden_states (T, H) in place.
  void operator()(nn::Pass& pass, View hidden_states, const TextContext& context, LayerSlot slot,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::RmsNorm input_layernorm;
  std::variant<Attention, GatedDeltaNet> mixer;  ///< self_attn or linear_attn
  nn::RmsNorm post_attention_layernorm;
  std::variant<Mlp, SparseMoeBlock> mlp;
};

/// A range of decoder layers, [begin, end).
struct LayerRange {
  std::int64_t begin = 0, end = 0;
};

/// HF: Qwen3_5TextModel.
struct TextModel {
  static TextModel load(const io::Loader& loader, const TextConfig& config, LayerRange range);
  /// Runs the loaded layers over hidden_states (T, H) in place. With `final_hidden` (T, H), and if
  /// the last layer is loaded, the final norm of all rows is written there.
  void operator()(nn::Pass& pass, View hidden_states, std::span<const model::Segment> segments,
                  View final_hidden, const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Embedding embed_tokens;
  std::vector<DecoderLayer> layers;
  nn::RmsNorm norm;
  nn::TextRotaryEmbedding rotary_emb;
  Site rotary_site;
};

}  // namespace sightline::qwen3_5
