// The gated feed-forward network: of every layer of the dense models, and the shared expert of the
// mixture-of-experts models. Const after load.
#pragma once

#include <cstdint>

#include "nn/activation.hpp"
#include "nn/linear.hpp"
#include "qwen3_5/config.hpp"

namespace sightline::qwen3_5 {

/// HF: Qwen3_5MLP: down(silu(gate(x)) · up(x)).
struct Mlp {
  static Mlp load(const io::Loader& loader, const TextConfig& config,
                  std::int64_t intermediate_size);
  /// x and y (T, H), may not overlap.
  void operator()(nn::Pass& pass, ConstView x, View y,
                  const nn::Where& where = nn::Where::current()) const;

  Site site;
  nn::Linear gate_proj, up_proj, down_proj;
  nn::Activation act_fn;
};

}  // namespace sightline::qwen3_5
