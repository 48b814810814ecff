// The vision tower of Qwen3-VL: that of Qwen3.5 (shared modules in nn/), plus DeepStack: after some
// blocks a merger of its own turns the hidden rows into features for the first language layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/vision_block.hpp"
#include "qwen3_vl/config.hpp"

namespace sightline::qwen3_vl {

/// HF: Qwen3VLVisionModel. P patches of all pictures of the call.
struct VisionModel {
  static VisionModel load(const io::Loader& loader, const VisionConfig& config);
  /// pixel_values (P, patch_values) and the grids to features (P / merge², (1 + k) ·
  /// out_hidden_size): the merger's columns, then those of the k DeepStack mergers.
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
  std::vector<nn::PatchMerger> deepstack_merger_list;
  std::vector<std::int64_t> deepstack_visual_indexes;  ///< block of each of them, ascending
  std::int64_t hidden_size = 0, spatial_merge_size = 0, out_hidden_size = 0;
};

}  // namespace sightline::qwen3_vl
