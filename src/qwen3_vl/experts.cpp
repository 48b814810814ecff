// Router, experts and their block (experts.hpp).
#include "qwen3_vl/experts.hpp"

#include "kernels/matmul.hpp"

namespace sightline::qwen3_vl {
namespace {

// One stored tensor of expert matrices. Which way round it lies is told by its shape; where in and
// out are equal, by `sibling`, the layout of the layer's other tensor.
ExpertWeights expert_weights(const io::StoredTensor& stored, std::int64_t out, std::int64_t in,
                             bool sibling) {
  const bool transposed = out == in ? sibling : stored.shape[1] == in;
  return {{stored.dtype, stored.shape[0] * stored.shape[1], stored.shape[2], stored.data},
          out,
          in,
          transposed};
}

}  // namespace

void ExpertWeights::operator()(nn::Pass& pass, std::int64_t expert, ConstView x, View y) const {
  const std::int64_t rows = transposed ? in : out;
  const Weight one{all.dtype, rows, all.in, all.row(expert * rows)};
  if (transposed) {
    kernels::matmul_transposed(pass, x, one, y);
  } else {
    kernels::matmul(pass, x, one, nullptr, y);
  }
}

TextTopKRouter TextTopKRouter::load(const io::Loader& loader, const TextConfig& config) {
  return {loader.site("Qwen3VLMoeTextTopKRouter"),
          loader.weight("weight", Shape{config.num_experts, config.hidden_size}),
          config.num_experts_per_tok};
}

nn::Routing TextTopKRouter::operator()(nn::Pass& pass, ConstView x, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", x);
  const View router_logits = span.tmp(x.rows, weight.out);
  kernels::matmul(pass, x, weight, nullptr, router_logits);
  nn::Routing routing = pass.counts_only() ? nn::even_routing(x.rows, weight.out, top_k)
                                           : nn::choose_experts(router_logits, top_k);
  span.out(router_logits);
  return routing;
}

TextExperts TextExperts::load(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t n = config.num_experts, h = config.hidden_size,
                     i = config.moe_intermediate_size;
  Site site = loader.site("Qwen3VLMoeTextExperts");
  const io::StoredTensor gate_up =
      loader.either("gate_up_proj", Shape{n, h, 2 * i}, Shape{n, 2 * i, h});
  const io::StoredTensor down = loader.either("down_proj", Shape{n, i, h}, Shape{n, h, i});
  // At most one of the two is square.
  return {std::move(site), expert_weights(gate_up, 2 * i, h, down.shape[1] == i),
          expert_weights(down, h, i, gate_up.shape[1] == h),
          nn::Activation::load(loader.at("act_fn"), nn::Activation::Kind::silu), n};
}

void TextExperts::operator()(nn::Pass& pass, ConstView x, const nn::Routing& routing, View y,
                             const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", x);
  nn::show_routing(span, routing);
  const auto apply = [&](std::int64_t expert, View rows) {
    const View gate_up = pass.arena.matrix(rows.rows, gate_up_proj.out);
    const View gate = gate_up.slice_cols(0, gate_up_proj.out / 2),
               up = gate_up.slice_cols(gate_up_proj.out / 2, gate_up_proj.out / 2);
    gate_up_proj(pass, expert, rows, gate_up);
    nn::silu_gate(pass, act_fn, gate, up, gate);
    down_proj(pass, expert, gate, rows);
  };
  nn::mix_experts(pass, x, routing, num_experts, apply, y);
  span.out(y);
}

TextSparseMoeBlock TextSparseMoeBlock::load(const io::Loader& loader, const TextConfig& config) {
  // Rows reach router and experts without the batch axis.
  return {loader.site("Qwen3VLMoeTextSparseMoeBlock"),
          TextExperts::load(loader.at("experts").batched(false), config),
          TextTopKRouter::load(loader.at("gate").batched(false), config)};
}

void TextSparseMoeBlock::operator()(nn::Pass& pass, ConstView x, View y,
                                    const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", x);
  const nn::Routing routing = gate(pass, x);
  experts(pass, x, routing, y);
  span.out(y);
}

}  // namespace sightline::qwen3_vl
