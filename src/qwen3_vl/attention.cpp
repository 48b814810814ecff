// Norm and attention of the text model (text.hpp).
#include <fmt/format.h>

#include <cmath>

#include "kernels/elementwise.hpp"
#include "model/attend.hpp"
#include "qwen3_vl/text.hpp"

namespace sightline::qwen3_vl {

TextRmsNorm TextRmsNorm::load(const io::Loader& loader, const TextConfig& config,
                              std::int64_t width) {
  return {loader.site(std::string(config.family) + "TextRMSNorm",
                      fmt::format("({},), eps={}", width, config.rms_norm_eps)),
          loader.values("weight", Shape{width}), static_cast<float>(config.rms_norm_eps)};
}

void TextRmsNorm::operator()(nn::Pass& pass, ConstView x, View y, std::int64_t heads,
                             const nn::Where& where) const {
  nn::Span span{pass, site, where};
  // With heads, x is (tokens · heads, width): shown as (tokens, heads, width).
  const auto shown = [&](ConstView m) {
    return heads > 0 ? ConstView{m.data, m.rows / heads, m.cols * heads} : m;
  };
  span.in("hidden_states", shown(x), heads);
  kernels::rms_norm(pass, x, weight.data(), /*offset=*/0.0F, eps, y);
  span.out(shown(y), heads);
}

TextAttention TextAttention::load(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t h = config.hidden_size, d = config.head_dim;
  const std::int64_t q = config.num_attention_heads * d, kv = config.num_key_value_heads * d;
  return {loader.site(std::string(config.family) + "TextAttention"),
          nn::Linear::load(loader.at("q_proj"), q, h),
          nn::Linear::load(loader.at("k_proj"), kv, h),
          nn::Linear::load(loader.at("v_proj"), kv, h),
          nn::Linear::load(loader.at("o_proj"), h, q),
          TextRmsNorm::load(loader.at("q_norm"), config, d),
          TextRmsNorm::load(loader.at("k_norm"), config, d),
          config.num_attention_heads,
          config.num_key_value_heads,
          d};
}

void TextAttention::operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                               std::size_t layer, View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const std::int64_t rows = hidden_states.rows, q_width = num_heads * head_dim,
                     kv_width = num_key_value_heads * head_dim;
  const auto heads_of = [&](View m) {
    return View{m.data, m.rows * (m.cols / head_dim), head_dim};
  };
  // 1. Queries and keys, each head normed; values.
  const View query = span.tmp(rows, q_width), key = span.tmp(rows, kv_width),
             value = span.tmp(rows, kv_width);
  q_proj(pass, hidden_states, query);
  q_norm(pass, heads_of(query), heads_of(query), num_heads);
  k_proj(pass, hidden_states, key);
  k_norm(pass, heads_of(key), heads_of(key), num_key_value_heads);
  v_proj(pass, hidden_states, value);
  // 2. Rotation of every dimension.
  kernels::rope(pass, query, head_dim, context.cos, context.sin);
  kernels::rope(pass, key, head_dim, context.cos, context.sin);
  span.note("q_rope", query, num_heads);
  span.note("k_rope", key, num_key_value_heads);
  // 3. Attention of every segment over its own cache.
  const View mixed = span.tmp(rows, q_width);
  const kernels::AttentionShape shape{num_heads, num_key_value_heads, head_dim,
                                      1.0F / std::sqrt(static_cast<float>(head_dim))};
  for (const model::Segment& segment : context.segments) {
    const auto part = [&](View m) { return m.slice_rows(segment.first_row, segment.rows); };
    model::attend(pass, shape, segment, layer, {part(query), part(key), part(value), part(mixed)});
    pass.poll();
  }
  // 4. Projection.
  o_proj(pass, mixed, y);
  span.out(y);
}

}  // namespace sightline::qwen3_vl
