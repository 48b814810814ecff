// Which experts a token goes to, and which tokens an expert gets: the part of a mixture of experts
// that has no weights. Plain functions on plain data, one thread.
#pragma once

#include <cstdint>
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

}  // namespace sightline::nn
