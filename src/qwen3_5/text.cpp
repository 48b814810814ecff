// Decoder layer and the stack of the text model (text.hpp).
#include "qwen3_5/text.hpp"

#include "kernels/elementwise.hpp"
#include "model/whole_prompt.hpp"

namespace sightline::qwen3_5 {

DecoderLayer DecoderLayer::load(const io::Loader& loader, const TextConfig& config,
                                LayerType type) {
  DecoderLayer layer;
  layer.site = loader.site(config.class_name("DecoderLayer"));
  if (type == LayerType::full_attention) {
    layer.mixer = Attention::load(loader.at("self_attn"), config);
  } else {
    layer.mixer = GatedDeltaNet::load(loader.at("linear_attn"), config);
  }
  if (config.has_experts()) {
    layer.mlp = SparseMoeBlock::load(loader.at("mlp"), config);
  } else {
    layer.mlp = Mlp::load(loader.at("mlp"), config, config.intermediate_size);
  }
  layer.input_layernorm = nn::RmsNorm::load(loader.at("input_layernorm"), config.hidden_size,
                                            config.rms_norm_eps, config.class_name("RMSNorm"));
  layer.post_attention_layernorm =
      nn::RmsNorm::load(loader.at("post_attention_layernorm"), config.hidden_size,
                        config.rms_norm_eps, config.class_name("RMSNorm"));
  return layer;
}

void DecoderLayer::operator()(nn::Pass& pass, View hidden_states, const TextContext& context,
                              LayerSlot slot, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const View normed = span.tmp(hidden_states.rows, hidden_states.cols);
  const View update = span.tmp(hidden_states.rows, hidden_states.cols);
  input_layernorm(pass, hidden_states, normed);
  std::visit([&](const auto& mix) { mix(pass, normed, context, slot, update); }, mixer);
  kernels::add(pass, hidden_states, update, hidden_states);
  post_attention_layernorm(pass, hidden_states, normed);
  std::visit([&](const auto& feed_forward) { feed_forward(pass, normed, update); }, mlp);
  kernels::add(pass, hidden_states, update, hidden_states);
  span.out(hidden_states);
}

TextModel TextModel::load(const io::Loader& loader, const TextConfig& config, LayerRange range) {
  TextModel text{
      loader.site(config.class_name("TextModel")),
      nn::Embedding::load(loader.at("embed_tokens"), config.vocab_size, config.hidden_size),
      {},
      {},
      nn::TextRotaryEmbedding(config.rotary_dim(), config.rope_parameters.rope_theta,
                              config.rope_parameters.mrope_section),
      {}};
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const io::Loader layer = loader.at("layers").at(i);
    if (i < range.begin || i >= range.end) {
      layer.skip();
    } else {
      text.layers.push_back(
          DecoderLayer::load(layer, config, config.layer_types[static_cast<std::size_t>(i)]));
    }
  }
  text.norm = nn::RmsNorm::load(loader.at("norm"), config.hidden_size, config.rms_norm_eps,
                                config.class_name("RMSNorm"));
  text.rotary_site = loader.at("rotary_emb").site(config.class_name("TextRotaryEmbedding"));
  return text;
}

void TextModel::operator()(nn::Pass& pass, View hidden_states,
                           std::span<const model::Segment> segments, View final_hidden,
                           const nn::Where& where) const {
  nn::Span span{pass, site, where};
  model::show_positions(span, segments, hidden_states.rows);
  span.in("inputs_embeds", hidden_states);
  // Rotary angles are the same in every layer.
  const View cos = span.tmp(hidden_states.rows, rotary_emb.half()),
             sin = span.tmp(hidden_states.rows, rotary_emb.half());
  for (const model::Segment& segment : segments) {
    if (pass.counts_only()) break;
    rotary_emb(*segment.positions, segment.first_position,
               cos.slice_rows(segment.first_row, segment.rows),
               sin.slice_rows(segment.first_row, segment.rows));
  }
  const TextContext context{segments, cos, sin};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i](pass, hidden_states, context, LayerSlot{i});
    pass.poll();
  }
  if (final_hidden.data == nullptr) return;
  norm(pass, hidden_states, final_hidden);
  span.out(final_hidden);
}

}  // namespace sightline::qwen3_5
