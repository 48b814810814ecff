// Router, experts and their block (experts.hpp).
#include "qwen3_vl/experts.hpp"

#include "kernels/matmul.hpp"

namespace sightline::qwen3_vl {
namespace {

// One stored tensor of expert matrices. Which way round it lies is told by its shape; where in and
// out are equal, by `sibling`, the layout of the layer's other tensor.
ExpertWeights fused(const io::StoredTensor& stored, std::int64_t out, std::int64_t in,
                    bool sibling) {
  const bool transposed = out == in ? sibling : stored.shape[1] == in;
  const Weight all{stored.dtype, stored.shape[0] * stored.shape[1], stored.shape[2], stored.data};
  ExpertWeights weights{{}, out, in, transposed};
  const std::int64_t rows = stored.shape[1];
  for (std::int64_t e = 0; e < stored.shape[0]; ++e)
    weights.experts.push_back({all.dtype, rows, all.in, all.row(e * rows)});
  return weights;
}

/// K.gate_proj.weight and so on, [out, in].
ExpertWeights one_by_one(const io::Loader& loader, const char* leaf, std::int64_t experts,
                         std::int64_t out, std::int64_t in) {
  ExpertWeights weights{{}, out, in, false};
  for (std::int64_t e = 0; e < experts; ++e)
    weights.experts.push_back(loader.at(e).at(leaf).weight("weight", Shape{out, in}));
  return weights;
}

}  // namespace

void ExpertWeights::operator()(nn::Pass& pass, std::int64_t expert, ConstView x, View y) const {
  const Weight& one = experts[static_cast<std::size_t>(expert)];
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
  TextExperts experts;
  experts.site = loader.site("Qwen3VLMoeTextExperts");
  experts.num_experts = n;
  if (!loader.has("down_proj") && loader.has_weight("0.gate_proj.weight")) {
    experts.gate_proj = one_by_one(loader, "gate_proj", n, i, h);
    experts.up_proj = one_by_one(loader, "up_proj", n, i, h);
    experts.down_proj = one_by_one(loader, "down_proj", n, h, i);
  } else {
    const io::StoredTensor gate_up =
        loader.either("gate_up_proj", Shape{n, h, 2 * i}, Shape{n, 2 * i, h});
    const io::StoredTensor down = loader.either("down_proj", Shape{n, i, h}, Shape{n, h, i});
    // At most one of the two is square.
    experts.gate_up_proj = fused(gate_up, 2 * i, h, down.shape[1] == i);
    experts.down_proj = fused(down, h, i, gate_up.shape[1] == h);
  }
  experts.act_fn = nn::Activation::load(loader.at("act_fn"), nn::Activation::Kind::silu);
  return experts;
}

void TextExperts::operator()(nn::Pass& pass, ConstView x, const nn::Routing& routing, View y,
                             const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", x);
  nn::show_routing(span, routing);
  const auto apply = [&](std::int64_t expert, View rows) {
    const std::int64_t width = down_proj.in;
    const View gate_up = pass.arena.matrix(rows.rows, 2 * width);
    const View gate = gate_up.slice_cols(0, width), up = gate_up.slice_cols(width, width);
    if (gate_proj.experts.empty()) {
      gate_up_proj(pass, expert, rows, gate_up);
    } else {
      gate_proj(pass, expert, rows, gate);
      up_proj(pass, expert, rows, up);
    }
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
