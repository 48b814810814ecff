// The sparse feed-forward network of the mixture-of-experts models: a router sends every token to a
// few of many experts, and a shared expert sees them all. Class for class transformers'
// modeling_qwen3_5_moe. Shapes: T rows, H hidden size, N experts, I width of an expert. A token's
// bits depend neither on the other tokens nor on threads: its experts are added in ascending order.
// Const after load.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/expert_routing.hpp"
#include "nn/linear.hpp"
#include "qwen3_5/config.hpp"
#include "qwen3_5/mlp.hpp"

namespace sightline::qwen3_5 {

/// HF: Qwen3_5MoeTopKRouter.
struct TopKRouter {
  static TopKRouter load(const io::Loader& loader, const TextConfig& config);
  /// The experts of every row of hidden_states (T, H).
  nn::Routing operator()(nn::Pass& pass, ConstView hidden_states,
                         const nn::Where& where = nn::Where::current()) const;

  Site site;
  Weight weight;  ///< (N, H)
  std::int64_t top_k = 0;
};

/// One expert, used where it is stored: down(silu(gate(x)) · up(x)).
struct Expert {
  Weight gate_proj, up_proj;  ///< (I, H)
  Weight down_proj;           ///< (H, I)
};

/// HF: Qwen3_5MoeExperts. A checkpoint stores them as gate_up_proj (N, 2I, H) and down_proj (N, H,
/// I), or one by one as K.gate_proj.weight, K.up_proj.weight and K.down_proj.weight (specification
/// 1.5): both are views of the stored bytes. Only experts that a token goes to are read, once for
/// all their tokens.
struct Experts {
  static Experts load(const io::Loader& loader, const TextConfig& config);
  /// y (T, H) = the weighted sum over the experts of every row of hidden_states (T, H); may not
  /// overlap. Scratch is that of the expert with the most rows: rows · (H + 2I). Throws
  /// Error(cancelled) between experts.
  void operator()(nn::Pass& pass, ConstView hidden_states, const nn::Routing& routing, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  std::vector<Expert> experts;
  nn::Activation act_fn;
};

/// HF: Qwen3_5MoeSparseMoeBlock: experts + sigmoid(shared_expert_gate) · shared_expert.
struct SparseMoeBlock {
  static SparseMoeBlock load(const io::Loader& loader, const TextConfig& config);
  /// hidden_states and y (T, H), may not overlap.
  void operator()(nn::Pass& pass, ConstView hidden_states, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  TopKRouter gate;
  Experts experts;
  Mlp shared_expert;
  nn::Linear shared_expert_gate;
};

}  // namespace sightline::qwen3_5
