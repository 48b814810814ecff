// The vision tower of Qwen3.5: patch embedding, position embedding, blocks, merger (no DeepStack).
#pragma once

#include <span>
#include <vector>

#include "nn/vision_block.hpp"
#include "qwen3_5/config.hpp"

namespace sightline::qwen3_5 {

/// HF: Qwen3_5VisionModel. P patches of all pictures of the call.
struct VisionModel {
  static VisionModel load(const io::Loader& loader, const VisionConfig& config);
  /// pixel_values (P, patch_values) and the grids to features (P / merge², out_hidden_size).
  void operator()(nn::Pass& pass, ConstView pixel_values, std::span<const nn::Grid> grids,
                  View features, const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::PatchEmbed patch_embed;
  Site pos_embed_site;
  Weight pos_embed;  ///< (side², E)
  Site rotary_site;
  nn::VisionRotaryEmbedding rotary_pos_emb;
  std::vector<nn::VisionBlock> blocks;
  nn::PatchMerger merger;
  std::int64_t hidden_size = 0, spatial_merge_size = 0;
};

}  // namespace sightline::qwen3_5
