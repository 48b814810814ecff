// The mixture of experts of Qwen3-VL: router and experts, no shared expert. Class for class
// transformers' modeling_qwen3_vl_moe (prefix Qwen3VLMoe left out). Shapes: T rows of the batch, H
// hidden size, I width of an expert, N experts. Const after load.
#pragma once

#include <cstdint>
#include <vector>

#include "io/checkpoint.hpp"
#include "nn/activation.hpp"
#include "nn/expert_routing.hpp"
#include "nn/pass.hpp"
#include "qwen3_vl/config.hpp"
#include "tensor/weight.hpp"

namespace sightline::qwen3_vl {

/// The matrices of all experts, of one kind: in one stored tensor, [N, out, in] as everywhere else
/// or [N, in, out] as the published files have them, or one by one, as quantised checkpoints do.
/// Used where they lie; only the experts that a token needs are touched.
struct ExpertWeights {
  /// y = x · (matrix of this expert): x (rows, in), y (rows, out).
  void operator()(nn::Pass& pass, std::int64_t expert, ConstView x, View y) const;

  std::vector<Weight> experts;
  std::int64_t out = 0, in = 0;
  bool transposed = false;  ///< stored [in, out]
};

/// HF: Qwen3VLMoeTextTopKRouter.
struct TextTopKRouter {
  static TextTopKRouter load(const io::Loader& loader, const TextConfig& config);
  /// x (T, H).
  nn::Routing operator()(nn::Pass& pass, ConstView x,
                         const nn::Where& where = nn::Where::current()) const;

  Site site;
  Weight weight;  ///< (N, H)
  std::int64_t top_k = 0;
};

/// HF: Qwen3VLMoeTextExperts.
struct TextExperts {
  static TextExperts load(const io::Loader& loader, const TextConfig& config);
  /// y[t] = Σ weight · expert(x[t]) over the chosen experts, in ascending order of experts. x and y
  /// (T, H).
  void operator()(nn::Pass& pass, ConstView x, const nn::Routing& routing, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  /// gate_up_proj has the gate in its first I outputs and up in the others; experts that are stored
  /// one by one have two matrices instead.
  ExpertWeights gate_up_proj, gate_proj, up_proj, down_proj;
  nn::Activation act_fn;
  std::int64_t num_experts = 0;
};

/// HF: Qwen3VLMoeTextSparseMoeBlock.
struct TextSparseMoeBlock {
  static TextSparseMoeBlock load(const io::Loader& loader, const TextConfig& config);
  void operator()(nn::Pass& pass, ConstView x, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  TextExperts experts;
  TextTopKRouter gate;
};

}  // namespace sightline::qwen3_vl
