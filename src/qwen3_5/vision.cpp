// The vision tower (vision.hpp).
#include "qwen3_5/vision.hpp"

#include <fmt/format.h>

namespace sightline::qwen3_5 {

VisionModel VisionModel::load(const io::Loader& loader, const VisionConfig& config) {
  const nn::VisionShape shape = config.shape();
  VisionModel tower{
      loader.site(std::string(config.family) + "VisionModel"),
      nn::PatchEmbed::load(loader.at("patch_embed"), shape),
      loader.at("pos_embed")
          .site("Embedding",
                fmt::format("{}, {}", config.num_position_embeddings, config.hidden_size)),
      loader.at("pos_embed")
          .weight("weight", Shape{config.num_position_embeddings, config.hidden_size}),
      loader.at("rotary_pos_emb").site(std::string(config.family) + "VisionRotaryEmbedding"),
      nn::VisionRotaryEmbedding(shape.head_dim()),
      {},
      {},
      config.hidden_size,
      config.spatial_merge_size};
  for (std::int64_t i = 0; i < config.depth; ++i) {
    tower.blocks.push_back(nn::VisionBlock::load(loader.at("blocks").at(i), shape));
  }
  tower.merger = nn::PatchMerger::load(loader.at("merger"), shape);
  return tower;
}

void VisionModel::operator()(nn::Pass& pass, ConstView pixel_values,
                             std::span<const nn::Grid> grids, View features,
                             const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", pixel_values);
  if (span.tracing()) {
    std::vector<std::int64_t> thw;
    for (const nn::Grid& grid : grids) thw.insert(thw.end(), {grid.t, grid.h, grid.w});
    const Shape shape{static_cast<std::int64_t>(grids.size()), 3};
    span.in(TensorRef{"grid_thw", DType::i64, shape, reinterpret_cast<const std::byte*>(thw.data()),
                      3});
  }
  // 1. Patches to hidden rows, plus the sampled position embedding.
  const View hidden = span.tmp(pixel_values.rows, hidden_size);
  patch_embed(pass, pixel_values, hidden);
  nn::add_position_embedding(pass, pos_embed, grids, spatial_merge_size, hidden);
  // 2. Rotary angles, then the blocks.
  const View cos = span.tmp(hidden.rows, rotary_pos_emb.half()),
             sin = span.tmp(hidden.rows, rotary_pos_emb.half());
  nn::vision_rotary(pass, rotary_pos_emb, grids, spatial_merge_size, cos, sin);
  const nn::VisionContext context{grids, cos, sin};
  for (const nn::VisionBlock& block : blocks) {
    block(pass, hidden, context);
    pass.poll();
  }
  // 3. Four neighbours become one feature row.
  merger(pass, hidden, features);
  span.note("pooler_output", features);
  span.out(hidden);
}

}  // namespace sightline::qwen3_5
