// MLP, decoder layer and the stack of the text model with its DeepStack additions (text.hpp).
#include "qwen3_vl/text.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise.hpp"
#include "model/whole_prompt.hpp"

namespace sightline::qwen3_vl {
namespace {

// Features of one DeepStack layer as transformers hands them over: (visual rows of the batch, H) in
// row order. For traces only.
View joined_features(nn::Pass& pass, std::span<const model::Segment> segments, std::int64_t first,
                     std::int64_t cols) {
  struct Place {
    std::int64_t row;
    ConstView features;
  };
  std::vector<Place> places;
  std::int64_t rows = 0;
  for (const model::Segment& segment : segments) {
    for (const model::FeatureRows& run : segment.features) {
      places.push_back({segment.first_row + run.first_row, run.features.slice_cols(first, cols)});
      rows += run.features.rows;
    }
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.row < b.row; });
  const View joined = pass.arena.matrix(rows, cols);
  std::int64_t next = 0;
  for (const Place& place : places) {
    for (std::int64_t r = 0; r < place.features.rows && !pass.counts_only(); ++r) {
      std::memcpy(joined.row(next++), place.features.row(r),
                  static_cast<std::size_t>(cols) * sizeof(float));
    }
  }
  return joined;
}

}  // namespace

TextMlp TextMlp::load(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t h = config.hidden_size, f = config.intermediate_size;
  return {loader.site(std::string(config.family) + "TextMLP"),
          nn::Linear::load(loader.at("gate_proj"), f, h),
          nn::Linear::load(loader.at("up_proj"), f, h),
          nn::Linear::load(loader.at("down_proj"), h, f),
          nn::Activation::load(loader.at("act_fn"), nn::Activation::Kind::silu)};
}

void TextMlp::operator()(nn::Pass& pass, ConstView x, View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("x", x);
  const View gate = span.tmp(x.rows, gate_proj.out()), up = span.tmp(x.rows, up_proj.out());
  gate_proj(pass, x, gate);
  up_proj(pass, x, up);
  nn::silu_gate(pass, act_fn, gate, up, gate);
  down_proj(pass, gate, y);
  span.out(y);
}

TextDecoderLayer TextDecoderLayer::load(const io::Loader& loader, const TextConfig& config,
                                        std::int64_t index) {
  TextDecoderLayer layer;
  layer.site = loader.site(std::string(config.family) + "TextDecoderLayer");
  layer.self_attn = TextAttention::load(loader.at("self_attn"), config);
  if (config.is_sparse(index)) {
    layer.mlp = TextSparseMoeBlock::load(loader.at("mlp"), config);
  } else {
    layer.mlp = TextMlp::load(loader.at("mlp"), config);
  }
  layer.input_layernorm =
      TextRmsNorm::load(loader.at("input_layernorm"), config, config.hidden_size);
  layer.post_attention_layernorm =
      TextRmsNorm::load(loader.at("post_attention_layernorm"), config, config.hidden_size);
  return layer;
}

void TextDecoderLayer::operator()(nn::Pass& pass, View hidden_states, const TextContext& context,
                                  std::size_t layer, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const View normed = span.tmp(hidden_states.rows, hidden_states.cols);
  const View update = span.tmp(hidden_states.rows, hidden_states.cols);
  input_layernorm(pass, hidden_states, normed);
  self_attn(pass, normed, context, layer, update);
  kernels::add(pass, hidden_states, update, hidden_states);
  post_attention_layernorm(pass, hidden_states, normed);
  std::visit([&](const auto& feed_forward) { feed_forward(pass, normed, update); }, mlp);
  kernels::add(pass, hidden_states, update, hidden_states);
  span.out(hidden_states);
}

TextModel TextModel::load(const io::Loader& loader, const Config& config, LayerRange range) {
  const TextConfig& text = config.text_config;
  const std::string prefix(text.family);
  TextModel model{loader.site(prefix + "TextModel"),
                  nn::Embedding::load(loader.at("embed_tokens"), text.vocab_size, text.hidden_size),
                  {},
                  {},
                  nn::TextRotaryEmbedding(text.head_dim, text.rope_parameters.rope_theta,
                                          text.rope_parameters.mrope_section),
                  {},
                  {},
                  range.begin,
                  config.deepstack_layers()};
  for (std::int64_t i = 0; i < text.num_hidden_layers; ++i) {
    const io::Loader layer = loader.at("layers").at(i);
    if (i < range.begin || i >= range.end) {
      layer.skip();
    } else {
      model.layers.push_back(TextDecoderLayer::load(layer, text, i));
    }
  }
  model.norm = TextRmsNorm::load(loader.at("norm"), text, text.hidden_size);
  model.rotary_site = loader.at("rotary_emb").site(prefix + "TextRotaryEmbedding");
  model.deepstack_site = loader.operation("_deepstack_process");
  return model;
}

// HF: Qwen3VLTextModel._deepstack_process: hidden_states[visual_pos_masks] += visual_embeds.
void TextModel::deepstack_process(nn::Pass& pass, View hidden_states,
                                  std::span<const model::Segment> segments, std::int64_t layer,
                                  const nn::Where& where) const {
  const bool visual = std::any_of(segments.begin(), segments.end(),
                                  [](const auto& segment) { return !segment.features.empty(); });
  if (!visual || layer >= deepstack_layers) return;
  // Columns of a feature row: what replaced the embedding, then one part per layer.
  const std::int64_t width = hidden_states.cols, first = (1 + layer) * width;
  nn::Span span{pass, deepstack_site, where};
  span.in("hidden_states", hidden_states);
  if (span.tracing()) {
    span.in(nn::tensor_ref("visual_embeds", joined_features(pass, segments, first, width), false));
  }
  for (const model::Segment& segment : segments) {
    for (const model::FeatureRows& run : segment.features) {
      const View rows =
          hidden_states.slice_rows(segment.first_row + run.first_row, run.features.rows);
      kernels::add(pass, rows, run.features.slice_cols(first, width), rows);
    }
  }
  span.out(hidden_states);
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
    layers[i](pass, hidden_states, context, i);
    deepstack_process(pass, hidden_states, segments, first_layer + static_cast<std::int64_t>(i));
    pass.poll();
  }
  if (final_hidden.data == nullptr) return;
  norm(pass, hidden_states, final_hidden);
  span.out(final_hidden);
}

}  // namespace sightline::qwen3_vl
