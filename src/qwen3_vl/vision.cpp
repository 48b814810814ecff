// The vision tower (vision.hpp).
#include "qwen3_vl/vision.hpp"

#include <fmt/format.h>

namespace sightline::qwen3_vl {

VisionModel VisionModel::load(const io::Loader& loader, const VisionConfig& config) {
  const nn::VisionShape shape = config.shape();
  const std::string prefix(config.family);
  VisionModel tower{
      loader.site(prefix + "VisionModel"),
      nn::PatchEmbed::load(loader.at("patch_embed"), shape),
      loader.at("pos_embed")
          .site("Embedding",
                fmt::format("{}, {}", config.num_position_embeddings, config.hidden_size)),
      loader.at("pos_embed")
          .weight("weight", Shape{config.num_position_embeddings, config.hidden_size}),
      loader.at("rotary_pos_emb").site(prefix + "VisionRotaryEmbedding"),
      nn::VisionRotaryEmbedding(shape.head_dim()),
      {},
      {},
      {},
      config.deepstack_visual_indexes,
      config.hidden_size,
      config.spatial_merge_size,
      config.out_hidden_size};
  for (std::int64_t i = 0; i < config.depth; ++i)
    tower.blocks.push_back(nn::VisionBlock::load(loader.at("blocks").at(i), shape));
  tower.merger = nn::PatchMerger::load(loader.at("merger"), shape);
  const io::Loader list = loader.at("deepstack_merger_list");
  for (std::size_t k = 0; k < config.deepstack_visual_indexes.size(); ++k) {
    tower.deepstack_merger_list.push_back(nn::PatchMerger::load(
        list.at(static_cast<std::int64_t>(k)), shape, nn::PatchMerger::NormAt::neighbours));
  }
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
  // 2. Rotary angles, then the blocks; some are followed by a DeepStack merger.
  const View cos = span.tmp(hidden.rows, rotary_pos_emb.half()),
             sin = span.tmp(hidden.rows, rotary_pos_emb.half());
  nn::vision_rotary(pass, rotary_pos_emb, grids, spatial_merge_size, cos, sin);
  const nn::VisionContext context{grids, cos, sin};
  std::size_t k = 0;
  const auto columns = [&](std::size_t part) {
    return features.slice_cols(static_cast<std::int64_t>(part) * out_hidden_size, out_hidden_size);
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i](pass, hidden, context);
    pass.poll();
    if (k == deepstack_visual_indexes.size() ||
        deepstack_visual_indexes[k] != static_cast<std::int64_t>(i)) {
      continue;
    }
    deepstack_merger_list[k](pass, hidden, columns(k + 1));
    ++k;
  }
  // 3. Four neighbours become one feature row.
  merger(pass, hidden, columns(0));
  span.note("pooler_output", columns(0));
  span.out(hidden);
}

}  // namespace sightline::qwen3_vl
