// Grids of patches and what depends on a patch's place in one: the merge-block order, the
// interpolated learned position embedding, the rotary angles. Shared by every vision tower of the
// family.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/pass.hpp"
#include "nn/rope.hpp"
#include "tensor/weight.hpp"

namespace sightline::nn {

/// Patches of one picture (t = 1) or clip: t temporal groups of h x w patches. HF: a row of
/// image_grid_thw.
struct Grid {
  std::int64_t t = 0, h = 0, w = 0;
  [[nodiscard]] std::int64_t patches() const { return t * h * w; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

struct PatchPlace {
  std::int64_t row = 0, col = 0;
};

/// Places of the h · w patches of one group in merge-block order (specification 2.5): blocks of
/// merge x merge patches, row by row, inside a block row by row. h and w are multiples of merge.
std::vector<PatchPlace> merge_block_order(const Grid& grid, std::int64_t merge);

/// Adds the learned position embedding, sampled bilinearly with corners aligned, to hidden (Σ
/// patches, width). table (side · side, width). HF: Qwen3_5VisionModel.fast_pos_embed_interpolate,
/// specification 5.2.
void add_position_embedding(Pass& pass, const Weight& table, std::span<const Grid> grids,
                            std::int64_t merge, View hidden);

/// cos and sin (Σ patches, rotary.half()) of all patches. HF: Qwen3_5VisionModel.rot_pos_emb,
/// specification 5.3.
void vision_rotary(Pass& pass, const VisionRotaryEmbedding& rotary, std::span<const Grid> grids,
                   std::int64_t merge, View cos, View sin);

}  // namespace sightline::nn
