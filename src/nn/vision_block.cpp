// The vision tower's shared modules (vision_block.hpp).
#include "nn/vision_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/bidirectional_attention.hpp"
#include "kernels/elementwise.hpp"

namespace sightline::nn {
namespace {

// Rows of the widest buffer (F columns) kept at once when no trace wants the whole of it: bounds
// the memory of large pictures; a row's bits do not depend on it.
constexpr std::int64_t kMlpRows = 2048;

std::string class_name(const VisionShape& shape, std::string_view suffix) {
  return std::string(shape.family) + std::string(suffix);
}

}  // namespace

PatchEmbed PatchEmbed::load(const io::Loader& loader, const VisionShape& shape) {
  const Shape kernel{shape.hidden_size, shape.in_channels, shape.temporal_patch_size,
                     shape.patch_size, shape.patch_size};
  Site site = loader.site(class_name(shape, "VisionPatchEmbed"));
  const io::Loader proj = loader.at("proj");
  const std::string extent =
      fmt::format("({}, {}, {})", shape.temporal_patch_size, shape.patch_size, shape.patch_size);
  Site conv =
      proj.site("Conv3d", fmt::format("{}, {}, kernel_size={}, stride={}", shape.in_channels,
                                      shape.hidden_size, extent, extent));
  return {std::move(site), Linear::load(proj, kernel, Linear::Bias::stored, std::move(conv))};
}

void PatchEmbed::operator()(Pass& pass, ConstView pixel_values, View hidden,
                            const Where& where) const {
  Span span{pass, site, where};
  span.in("hidden_states", pixel_values);
  proj(pass, pixel_values, hidden);
  span.out(hidden);
}

VisionAttention VisionAttention::load(const io::Loader& loader, const VisionShape& shape) {
  const std::int64_t e = shape.hidden_size;
  return {loader.site(class_name(shape, "VisionAttention")),
          Linear::load(loader.at("qkv"), 3 * e, e, Linear::Bias::stored),
          Linear::load(loader.at("proj"), e, e, Linear::Bias::stored), shape.num_heads};
}

void VisionAttention::operator()(Pass& pass, ConstView x, const VisionContext& context, View y,
                                 const Where& where) const {
  Span span{pass, site, where};
  span.in("hidden_states", x);
  // 1. One product gives q, k and v side by side: (P, [q | k | v]), each (heads, head_dim).
  const std::int64_t width = x.cols, head_dim = width / num_heads;
  const View all = span.tmp(x.rows, 3 * width);
  qkv(pass, x, all);
  const View q = all.slice_cols(0, width), k = all.slice_cols(width, width),
             v = all.slice_cols(2 * width, width);
  // 2. Rotate q and k by row and column.
  kernels::rope(pass, q, head_dim, context.cos, context.sin);
  kernels::rope(pass, k, head_dim, context.cos, context.sin);
  // 3. Attention inside each temporal group.
  const View mixed = span.tmp(x.rows, width);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  std::int64_t first = 0;
  for (const Grid& grid : context.grids) {
    const std::int64_t rows = grid.h * grid.w;
    for (std::int64_t t = 0; t < grid.t; ++t, first += rows) {
      kernels::bidirectional_attention(pass, num_heads, scale, q.slice_rows(first, rows),
                                       k.slice_rows(first, rows), v.slice_rows(first, rows),
                                       mixed.slice_rows(first, rows));
      pass.poll();
    }
  }
  // 4. Output projection.
  proj(pass, mixed, y);
  span.out(y);
}

VisionMlp VisionMlp::load(const io::Loader& loader, const VisionShape& shape) {
  const std::int64_t e = shape.hidden_size, f = shape.intermediate_size;
  return {loader.site(class_name(shape, "VisionMLP")),
          Linear::load(loader.at("linear_fc1"), f, e, Linear::Bias::stored),
          Linear::load(loader.at("linear_fc2"), e, f, Linear::Bias::stored),
          Activation::load(loader.at("act_fn"), Activation::Kind::gelu_tanh)};
}

void VisionMlp::operator()(Pass& pass, ConstView x, View y, const Where& where) const {
  Span span{pass, site, where};
  span.in("hidden_state", x);
  const std::int64_t tile = span.tracing() ? x.rows : std::min(x.rows, kMlpRows);
  const View wide = span.tmp(tile, linear_fc1.out());
  for (std::int64_t first = 0; first < x.rows; first += tile) {
    const std::int64_t rows = std::min(tile, x.rows - first);
    const View part = wide.slice_rows(0, rows);
    linear_fc1(pass, x.slice_rows(first, rows), part);
    act_fn(pass, part, part);
    linear_fc2(pass, part, y.slice_rows(first, rows));
  }
  span.out(y);
}

VisionBlock VisionBlock::load(const io::Loader& loader, const VisionShape& shape) {
  return {loader.site(class_name(shape, "VisionBlock")),
          LayerNorm::load(loader.at("norm1"), shape.hidden_size),
          LayerNorm::load(loader.at("norm2"), shape.hidden_size),
          VisionAttention::load(loader.at("attn"), shape),
          VisionMlp::load(loader.at("mlp"), shape)};
}

void VisionBlock::operator()(Pass& pass, View hidden, const VisionContext& context,
                             const Where& where) const {
  Span span{pass, site, where};
  span.in("hidden_states", hidden);
  const View normed = span.tmp(hidden.rows, hidden.cols),
             update = span.tmp(hidden.rows, hidden.cols);
  norm1(pass, hidden, normed);
  attn(pass, normed, context, update);
  kernels::add(pass, hidden, update, hidden);
  norm2(pass, hidden, normed);
  mlp(pass, normed, update);
  kernels::add(pass, hidden, update, hidden);
  span.out(hidden);
}

PatchMerger PatchMerger::load(const io::Loader& loader, const VisionShape& shape, NormAt norm_at) {
  const std::int64_t merged = shape.spatial_merge_size * shape.spatial_merge_size;
  const std::int64_t wide = merged * shape.hidden_size;
  return {
      loader.site(class_name(shape, "VisionPatchMerger")),
      LayerNorm::load(loader.at("norm"), norm_at == NormAt::neighbours ? wide : shape.hidden_size),
      Linear::load(loader.at("linear_fc1"), wide, wide, Linear::Bias::stored),
      Activation::load(loader.at("act_fn"), Activation::Kind::gelu_erf),
      Linear::load(loader.at("linear_fc2"), shape.out_hidden_size, wide, Linear::Bias::stored),
      merged,
      norm_at};
}

void PatchMerger::operator()(Pass& pass, ConstView hidden, View features,
                             const Where& where) const {
  Span span{pass, site, where};
  span.in("x", hidden);
  // Merge-block order makes the patches of one feature neighbours in memory: regrouping is a change
  // of shape (hidden and normed are dense).
  const auto regroup = [&](auto m) {
    return decltype(m){m.data, m.rows / merged_rows, m.cols * merged_rows};
  };
  const View normed = span.tmp(hidden.rows, hidden.cols), grouped = regroup(normed);
  if (norm_at == NormAt::neighbours) {
    norm(pass, regroup(hidden), grouped);
  } else {
    norm(pass, hidden, normed);
  }
  const View wide = span.tmp(grouped.rows, linear_fc1.out());
  linear_fc1(pass, grouped, wide);
  act_fn(pass, wide, wide);
  linear_fc2(pass, wide, features);
  span.out(features);
}

}  // namespace sightline::nn
