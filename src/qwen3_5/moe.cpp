// Router, experts and the block around them (moe.hpp).
#include "qwen3_5/moe.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"

namespace sightline::qwen3_5 {
namespace {

/// Rows [first, first + count) of a stored matrix.
Weight stored_rows(const Weight& matrix, std::int64_t first, std::int64_t count) {
  return {matrix.dtype, count, matrix.in, matrix.row(first)};
}

/// All experts in two tensors.
std::vector<Expert> load_fused(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t n = config.num_experts, h = config.hidden_size,
                     width = config.moe_intermediate_size;
  // As matrices: the experts' rows one below the other.
  Weight gate_up = loader.weight("gate_up_proj", Shape{n, 2 * width, h});
  gate_up.out = n * 2 * width;
  gate_up.in = h;
  Weight down = loader.weight("down_proj", Shape{n, h, width});
  down.out = n * h;
  down.in = width;
  std::vector<Expert> experts;
  for (std::int64_t e = 0; e < n; ++e) {
    experts.push_back({stored_rows(gate_up, e * 2 * width, width),
                       stored_rows(gate_up, e * 2 * width + width, width),
                       stored_rows(down, e * h, h)});
  }
  return experts;
}

std::vector<Expert> load_one_by_one(const io::Loader& loader, const TextConfig& config) {
  const Shape inward{config.moe_intermediate_size, config.hidden_size},
      outward{config.hidden_size, config.moe_intermediate_size};
  std::vector<Expert> experts;
  for (std::int64_t e = 0; e < config.num_experts; ++e) {
    const io::Loader expert = loader.at(e);
    experts.push_back({expert.weight("gate_proj.weight", inward),
                       expert.weight("up_proj.weight", inward),
                       expert.weight("down_proj.weight", outward)});
  }
  return experts;
}

}  // namespace

TopKRouter TopKRouter::load(const io::Loader& loader, const TextConfig& config) {
  return {loader.site(config.class_name("TopKRouter")),
          loader.weight("weight", Shape{config.num_experts, config.hidden_size}),
          config.num_experts_per_tok};
}

nn::Routing TopKRouter::operator()(nn::Pass& pass, ConstView hidden_states,
                                   const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const View router_logits = span.tmp(hidden_states.rows, weight.out);
  kernels::matmul(pass, hidden_states, weight, nullptr, router_logits);
  nn::Routing routing = pass.counts_only() ? nn::even_routing(hidden_states.rows, weight.out, top_k)
                                           : nn::choose_experts(router_logits, top_k);
  span.out(router_logits);
  return routing;
}

Experts Experts::load(const io::Loader& loader, const TextConfig& config) {
  Experts experts;
  experts.site = loader.site(config.class_name("Experts"));
  // A checkpoint with neither lacks the tensors that published files have.
  const bool fused = loader.has("down_proj") || !loader.has_weight("0.gate_proj.weight");
  experts.experts = fused ? load_fused(loader, config) : load_one_by_one(loader, config);
  experts.act_fn = nn::Activation::load(loader.at("act_fn"), nn::Activation::Kind::silu);
  return experts;
}

void Experts::operator()(nn::Pass& pass, ConstView hidden_states, const nn::Routing& routing,
                         View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  nn::show_routing(span, routing);
  const auto apply = [&](std::int64_t number, View rows) {
    const Expert& expert = experts[static_cast<std::size_t>(number)];
    const View gate = pass.arena.matrix(rows.rows, expert.gate_proj.out),
               up = pass.arena.matrix(rows.rows, expert.up_proj.out);
    kernels::matmul(pass, rows, expert.gate_proj, nullptr, gate);
    kernels::matmul(pass, rows, expert.up_proj, nullptr, up);
    nn::silu_gate(pass, act_fn, gate, up, gate);
    kernels::matmul(pass, gate, expert.down_proj, nullptr, rows);
  };
  nn::mix_experts(pass, hidden_states, routing, static_cast<std::int64_t>(experts.size()), apply,
                  y);
  span.out(y);
}

SparseMoeBlock SparseMoeBlock::load(const io::Loader& loader, const TextConfig& config) {
  // transformers flattens (1, T, H) to (T, H) inside of the block.
  const io::Loader flat = loader.batched(false);
  return {loader.site(config.class_name("SparseMoeBlock")),
          TopKRouter::load(flat.at("gate"), config), Experts::load(flat.at("experts"), config),
          Mlp::load(flat.at("shared_expert"), config, config.shared_expert_intermediate_size),
          nn::Linear::load(flat.at("shared_expert_gate"), 1, config.hidden_size)};
}

void SparseMoeBlock::operator()(nn::Pass& pass, ConstView hidden_states, View y,
                                const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  // 1. The shared expert sees every token.
  const View shared = span.tmp(hidden_states.rows, hidden_states.cols),
             share = span.tmp(hidden_states.rows, 1);
  shared_expert(pass, hidden_states, shared);
  // 2. The router's choice, and the experts of every token.
  const nn::Routing routing = gate(pass, hidden_states);
  experts(pass, hidden_states, routing, y);
  // 3. The shared expert's part.
  shared_expert_gate(pass, hidden_states, share);
  kernels::add_gated(pass, share, shared, y);
  span.out(y);
}

}  // namespace sightline::qwen3_5
