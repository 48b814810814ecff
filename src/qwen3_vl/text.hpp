// The language model of Qwen3-VL: class for class transformers' modeling_qwen3_vl and
// modeling_qwen3_vl_moe (prefixes Qwen3VL and Qwen3VLMoe left out). Full attention in every layer;
// DeepStack features are added after the first ones. Shapes: T rows of the batch (all segments), H
// hidden size. Const after load; all state is in Cache and Pass.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "model/vision_language_model.hpp"
#include "nn/linear.hpp"
#include "nn/rope.hpp"
#include "qwen3_vl/config.hpp"
#include "qwen3_vl/experts.hpp"

namespace sightline::qwen3_vl {

/// What all layers of one forward share.
struct TextContext {
  std::span<const model::Segment> segments;
  ConstView cos, sin;  ///< (T, head_dim / 2)
};

/// HF: Qwen3VLTextRMSNorm: y = x̂ · weight (weights are stored around one, unlike Qwen3.5's).
struct TextRmsNorm {
  static TextRmsNorm load(const io::Loader& loader, const TextConfig& config, std::int64_t width);
  /// x and y (rows, width); in place is allowed. `heads` > 0 only changes how a trace shows the
  /// shape: rows are then (token, head) pairs of dense matrices.
  void operator()(nn::Pass& pass, ConstView x, View y, std::int64_t heads = 0,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  std::vector<float> weight;  ///< (width)
  float eps = 0;
};

/// HF: Qwen3VLTextAttention: grouped-query attention over the cache, every dimension of a head
/// rotated, no output gate.
struct TextAttention {
  static TextAttention load(const io::Loader& loader, const TextConfig& config);
  /// `layer` is the index into Cache::layers and StepRecord::layers.
  void operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                  std::size_t layer, View y, const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  TextRmsNorm q_norm, k_norm;
  std::int64_t num_heads = 0, num_key_value_heads = 0, head_dim = 0;
};

/// HF: Qwen3VLTextMLP: down(silu(gate(x)) · up(x)).
struct TextMlp {
  static TextMlp load(const io::Loader& loader, const TextConfig& config);
  void operator()(nn::Pass& pass, ConstView x, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Linear gate_proj, up_proj, down_proj;
  nn::Activation act_fn;
};

/// HF: Qwen3VLTextDecoderLayer.
struct TextDecoderLayer {
  static TextDecoderLayer load(const io::Loader& loader, const TextConfig& config,
                               std::int64_t index);
  /// hidden_states (T, H) in place.
  void operator()(nn::Pass& pass, View hidden_states, const TextContext& context, std::size_t layer,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  TextAttention self_attn;
  std::variant<TextMlp, TextSparseMoeBlock> mlp;
  TextRmsNorm input_layernorm, post_attention_layernorm;
};

/// A range of decoder layers, [begin, end).
struct LayerRange {
  std::int64_t begin = 0, end = 0;
};

/// HF: Qwen3VLTextModel.
struct TextModel {
  static TextModel load(const io::Loader& loader, const Config& config, LayerRange range);
  /// Runs the loaded layers over hidden_states (T, H) in place; after each of the first ones, the
  /// DeepStack features of the segments are added. With `final_hidden` (T, H), the final norm of
  /// all rows is written there.
  void operator()(nn::Pass& pass, View hidden_states, std::span<const model::Segment> segments,
                  View final_hidden, const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Embedding embed_tokens;
  std::vector<TextDecoderLayer> layers;
  TextRmsNorm norm;
  nn::TextRotaryEmbedding rotary_emb;
  Site rotary_site, deepstack_site;
  std::int64_t first_layer = 0;       ///< absolute index of layers[0]
  std::int64_t deepstack_layers = 0;  ///< absolute layers that features are added after: the first

 private:
  void deepstack_process(nn::Pass& pass, View hidden_states,
                         std::span<const model::Segment> segments, std::int64_t layer,
                         const nn::Where& where = nn::Where::current()) const;
};

}  // namespace sightline::qwen3_vl
