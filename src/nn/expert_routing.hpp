// Which experts a token goes to, which tokens an expert gets, and the sum of what the experts make
// of a token: the part of a mixture of experts that has no weights.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/pass.hpp"

namespace sightline::nn {

/// The chosen experts of every row and their weights: (rows, top_k), row after row.
struct Routing {
  std::int64_t rows = 0, top_k = 0;
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

/// The top_k greatest logits of every row of router_logits (rows, experts), equal ones by ascending
/// number; the weights are their softmax over all experts, divided by its sum over the chosen ones.
/// HF: Qwen3VLMoeTextTopKRouter.forward, specification 7.6.
Routing choose_experts(ConstView router_logits, std::int64_t top_k);

/// A routing for passes that only count: the choices spread evenly over the experts.
Routing even_routing(std::int64_t rows, std::int64_t experts, std::int64_t top_k);

/// The rows that go to one expert, ascending, with their weights.
struct ExpertGroup {
  std::int64_t expert = 0;
  std::vector<std::int64_t> rows;
  std::vector<float> weights;
};

/// The experts that got any row, ascending: added in this order, a row's sum does not depend on its
/// company.
std::vector<ExpertGroup> group_by_expert(const Routing& routing, std::int64_t experts);

/// Shows a routing as inputs of a module: top_k_index and top_k_weights, (rows, top_k).
void show_routing(Span& span, const Routing& routing);

/// What one expert makes of its rows (rows, width), in place.
using ExpertFn = std::function<void(std::int64_t expert, View rows)>;

/// y[t] = Σ weight · expert(x[t]) over the chosen experts of every row, in ascending order; x and y
/// (T, width), may not overlap. The rows of an expert are gathered, so that it is called once, and
/// experts without rows are not. Scratch: the rows of one expert at a time. Throws Error(cancelled)
/// between experts.
void mix_experts(Pass& pass, ConstView x, const Routing& routing, std::int64_t experts,
                 const ExpertFn& expert, View y);

}  // namespace sightline::nn
