// Choosing, grouping and adding up (expert_routing.hpp).
#include "nn/expert_routing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/elementwise.hpp"

namespace sightline::nn {
namespace {

/// The greatest value that is not taken; values that are not numbers lose against all others but
/// the first.
std::size_t next_choice(const float* logits, const std::vector<bool>& taken) {
  std::size_t best = taken.size();
  for (std::size_t e = 0; e < taken.size(); ++e) {
    if (!taken[e] && (best == taken.size() || logits[e] > logits[best])) best = e;
  }
  return best;
}

void clear(Pass& pass, View y) {
  for (std::int64_t r = 0; r < y.rows && !pass.counts_only(); ++r)
    std::fill(y.row(r), y.row(r) + y.cols, 0.0F);
}

// The rows of a group side by side.
void gather(Pass& pass, ConstView x, const ExpertGroup& group, View rows) {
  for (std::int64_t r = 0; r < rows.rows && !pass.counts_only(); ++r) {
    std::memcpy(rows.row(r), x.row(group.rows[static_cast<std::size_t>(r)]),
                static_cast<std::size_t>(x.cols) * sizeof(float));
  }
}

}  // namespace

Routing choose_experts(ConstView router_logits, std::int64_t top_k) {
  Routing routing{router_logits.rows, top_k, {}, {}};
  std::vector<bool> taken(static_cast<std::size_t>(router_logits.cols));
  for (std::int64_t r = 0; r < router_logits.rows; ++r) {
    const float* logits = router_logits.row(r);
    std::fill(taken.begin(), taken.end(), false);
    const std::size_t first = routing.experts.size();
    double sum = 0;
    std::vector<double> shares;
    for (std::int64_t k = 0; k < top_k; ++k) {
      const std::size_t expert = next_choice(logits, taken);
      taken[expert] = true;
      routing.experts.push_back(static_cast<std::int32_t>(expert));
      // The sum over all experts cancels in the quotient, and so may any common offset: the
      // greatest logit is the first choice.
      const auto greatest = static_cast<std::size_t>(routing.experts[first]);
      shares.push_back(
          std::exp(static_cast<double>(logits[expert]) - static_cast<double>(logits[greatest])));
      sum += shares.back();
    }
    for (const double share : shares) routing.weights.push_back(static_cast<float>(share / sum));
  }
  return routing;
}

Routing even_routing(std::int64_t rows, std::int64_t experts, std::int64_t top_k) {
  Routing routing{rows, top_k, {}, {}};
  for (std::int64_t i = 0; i < rows * top_k; ++i)
    routing.experts.push_back(static_cast<std::int32_t>(i % experts));
  routing.weights.assign(routing.experts.size(), 1.0F / static_cast<float>(top_k));
  return routing;
}

std::vector<ExpertGroup> group_by_expert(const Routing& routing, std::int64_t experts) {
  std::vector<ExpertGroup> all(static_cast<std::size_t>(experts));
  for (std::int64_t r = 0; r < routing.rows; ++r) {
    for (std::int64_t k = 0; k < routing.top_k; ++k) {
      const auto i = static_cast<std::size_t>(r * routing.top_k + k);
      ExpertGroup& group = all[static_cast<std::size_t>(routing.experts[i])];
      group.expert = routing.experts[i];
      group.rows.push_back(r);
      group.weights.push_back(routing.weights[i]);
    }
  }
  std::erase_if(all, [](const ExpertGroup& group) { return group.rows.empty(); });
  return all;
}

void show_routing(Span& span, const Routing& routing) {
  if (!span.tracing()) return;
  const std::vector<std::int64_t> experts(routing.experts.begin(), routing.experts.end());
  const Shape shape{routing.rows, routing.top_k};
  span.in(TensorRef{"top_k_index", DType::i64, shape,
                    reinterpret_cast<const std::byte*>(experts.data()), routing.top_k});
  span.in(TensorRef{"top_k_weights", DType::f32, shape,
                    reinterpret_cast<const std::byte*>(routing.weights.data()), routing.top_k});
}

void mix_experts(Pass& pass, ConstView x, const Routing& routing, std::int64_t experts,
                 const ExpertFn& expert, View y) {
  clear(pass, y);
  for (const ExpertGroup& group : group_by_expert(routing, experts)) {
    const ArenaScope scope(pass.arena);
    const View rows = pass.arena.matrix(static_cast<std::int64_t>(group.rows.size()), x.cols);
    gather(pass, x, group, rows);
    expert(group.expert, rows);
    kernels::add_scaled_rows(pass, rows, group.weights.data(), group.rows.data(), y);
    pass.poll();
  }
}

}  // namespace sightline::nn
