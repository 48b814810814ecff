// Gated full attention of the text model (text.hpp, Attention).
#include <cmath>
#include <cstring>

#include "kernels/elementwise.hpp"
#include "model/attend.hpp"
#include "qwen3_5/text.hpp"

namespace sightline::qwen3_5 {

void split_query_gate(ConstView both, std::int64_t head_dim, View query, View gate) {
  const auto bytes = static_cast<std::size_t>(head_dim) * sizeof(float);
  for (std::int64_t r = 0; r < both.rows; ++r) {
    for (std::int64_t h = 0; h * head_dim < query.cols; ++h) {
      const float* pair = both.row(r) + 2 * h * head_dim;
      std::memcpy(query.row(r) + h * head_dim, pair, bytes);
      std::memcpy(gate.row(r) + h * head_dim, pair + head_dim, bytes);
    }
  }
}

Attention Attention::load(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t h = config.hidden_size, d = config.head_dim;
  const std::int64_t q = config.num_attention_heads * d, kv = config.num_key_value_heads * d;
  Attention attention;
  attention.site = loader.site(config.class_name("Attention"));
  attention.q_proj = nn::Linear::load(loader.at("q_proj"), 2 * q, h);
  attention.k_proj = nn::Linear::load(loader.at("k_proj"), kv, h);
  attention.v_proj = nn::Linear::load(loader.at("v_proj"), kv, h);
  attention.o_proj = nn::Linear::load(loader.at("o_proj"), h, q);
  attention.q_norm =
      nn::RmsNorm::load(loader.at("q_norm"), d, config.rms_norm_eps, config.class_name("RMSNorm"));
  attention.k_norm =
      nn::RmsNorm::load(loader.at("k_norm"), d, config.rms_norm_eps, config.class_name("RMSNorm"));
  attention.num_heads = config.num_attention_heads;
  attention.num_key_value_heads = config.num_key_value_heads;
  attention.head_dim = d;
  return attention;
}

void Attention::operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                           LayerSlot slot, View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const std::int64_t rows = hidden_states.rows, q_width = num_heads * head_dim,
                     kv_width = num_key_value_heads * head_dim;
  // 1. Query and gate come interleaved per head out of one projection.
  const View both = span.tmp(rows, 2 * q_width), query = span.tmp(rows, q_width),
             gate = span.tmp(rows, q_width);
  q_proj(pass, hidden_states, both);
  if (!pass.counts_only()) split_query_gate(both, head_dim, query, gate);
  // 2. Norm of every head, then keys and values.
  const auto heads_of = [&](View m) {
    return View{m.data, m.rows * (m.cols / head_dim), head_dim};
  };
  q_norm(pass, heads_of(query), heads_of(query), num_heads);
  const View key = span.tmp(rows, kv_width), value = span.tmp(rows, kv_width);
  k_proj(pass, hidden_states, key);
  k_norm(pass, heads_of(key), heads_of(key), num_key_value_heads);
  v_proj(pass, hidden_states, value);
  // 3. Partial rotation.
  kernels::rope(pass, query, head_dim, context.cos, context.sin);
  kernels::rope(pass, key, head_dim, context.cos, context.sin);
  span.note("q_rope", query, num_heads);
  span.note("k_rope", key, num_key_value_heads);
  // 4. Attention of every segment over its own cache.
  const View mixed = span.tmp(rows, q_width);
  const kernels::AttentionShape shape{num_heads, num_key_value_heads, head_dim,
                                      1.0F / std::sqrt(static_cast<float>(head_dim))};
  for (const model::Segment& segment : context.segments) {
    const auto part = [&](View m) { return m.slice_rows(segment.first_row, segment.rows); };
    model::attend(pass, shape, segment, slot.layer,
                  {part(query), part(key), part(value), part(mixed)});
    pass.poll();
  }
  // 5. Output gate, projection.
  kernels::sigmoid_mul(pass, gate, mixed, mixed);
  o_proj(pass, mixed, y);
  span.out(y);
}

}  // namespace sightline::qwen3_5
