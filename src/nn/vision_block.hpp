// The modules of the vision tower that Qwen3.5 and Qwen3-VL share: patch embedding, transformer
// block, merger. Shapes: P patches (all pictures of a call), E width, F intermediate width. Const
// after load.
#pragma once

#include <cstdint>
#include <span>

#include "nn/activation.hpp"
#include "nn/linear.hpp"
#include "nn/norms.hpp"
#include "nn/vision_positions.hpp"

namespace sightline::nn {

/// Which transformers classes the sites name ("Qwen3_5", "Qwen3VL").
struct VisionShape {
  std::string_view family;
  std::int64_t hidden_size = 0, intermediate_size = 0, num_heads = 0;
  std::int64_t in_channels = 0, temporal_patch_size = 0, patch_size = 0, spatial_merge_size = 0,
               out_hidden_size = 0;

  [[nodiscard]] std::int64_t head_dim() const { return hidden_size / num_heads; }
  /// Values of one row of pixel_values: channels · frames · patch · patch.
  [[nodiscard]] std::int64_t patch_values() const {
    return in_channels * temporal_patch_size * patch_size * patch_size;
  }
};

/// What all blocks of one call share: the grids and the rotary angles (P, head_dim / 2).
struct VisionContext {
  std::span<const Grid> grids;
  ConstView cos, sin;
};

/// HF: Qwen3_5VisionPatchEmbed: a convolution whose stride is its kernel, so one product.
struct PatchEmbed {
  static PatchEmbed load(const io::Loader& loader, const VisionShape& shape);
  /// pixel_values (P, patch_values) to hidden (P, E).
  void operator()(Pass& pass, ConstView pixel_values, View hidden,
                  const Where& where = Where::current()) const;

  Site site;
  Linear proj;
};

/// HF: Qwen3_5VisionAttention: full attention inside each temporal group of each picture.
struct VisionAttention {
  static VisionAttention load(const io::Loader& loader, const VisionShape& shape);
  /// x and y (P, E), may not overlap.
  void operator()(Pass& pass, ConstView x, const VisionContext& context, View y,
                  const Where& where = Where::current()) const;

  Site site;
  Linear qkv, proj;
  std::int64_t num_heads = 0;
};

/// HF: Qwen3_5VisionMLP: fc2(gelu_tanh(fc1(x))).
struct VisionMlp {
  static VisionMlp load(const io::Loader& loader, const VisionShape& shape);
  void operator()(Pass& pass, ConstView x, View y, const Where& where = Where::current()) const;

  Site site;
  Linear linear_fc1, linear_fc2;
  Activation act_fn;
};

/// HF: Qwen3_5VisionBlock: x + attn(norm1(x)), then x + mlp(norm2(x)).
struct VisionBlock {
  static VisionBlock load(const io::Loader& loader, const VisionShape& shape);
  /// hidden (P, E) in place.
  void operator()(Pass& pass, View hidden, const VisionContext& context,
                  const Where& where = Where::current()) const;

  Site site;
  LayerNorm norm1, norm2;
  VisionAttention attn;
  VisionMlp mlp;
};

/// HF: Qwen3_5VisionPatchMerger: norm, four neighbours side by side, two layers with the exact GELU
/// between. The mergers of DeepStack (Qwen3-VL) norm the four neighbours together instead.
struct PatchMerger {
  /// HF: use_postshuffle_norm.
  enum class NormAt : bool { patches, neighbours };

  static PatchMerger load(const io::Loader& loader, const VisionShape& shape,
                          NormAt norm_at = NormAt::patches);
  /// hidden (P, E) to features (P / merge², out_hidden_size).
  void operator()(Pass& pass, ConstView hidden, View features,
                  const Where& where = Where::current()) const;

  Site site;
  LayerNorm norm;
  Linear linear_fc1;
  Activation act_fn;
  Linear linear_fc2;
  std::int64_t merged_rows = 0;  ///< merge²: patches per feature row
  NormAt norm_at = NormAt::patches;
};

}  // namespace sightline::nn
