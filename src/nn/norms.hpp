// The norms of the family. RmsNorm (1 + weight), RmsNormGated (weight, then the gate) and LayerNorm
// are three types, so that no flag can confuse them. Const after load.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"
#include "nn/pass.hpp"

namespace sightline::nn {

/// y = x̂ · (1 + weight), x̂ = x · rsqrt(mean(x²) + eps). HF: Qwen3_5RMSNorm (weights are stored
/// around zero).
struct RmsNorm {
  /// `kind` is transformers' class.
  static RmsNorm load(const io::Loader& loader, std::int64_t width, double eps,
                      std::string_view kind);
  /// x and y (rows, width); in place is allowed. `heads` > 0 only changes how a trace shows the
  /// shape: rows are then (token, head) pairs of dense matrices.
  void operator()(Pass& pass, ConstView x, View y, std::int64_t heads = 0,
                  const Where& where = Where::current()) const;

  Site site;
  std::vector<float> weight;  ///< (width)
  float eps = 0;
};

/// y = weight · x̂ · silu(gate), per group of `width` columns. HF: Qwen3_5RMSNormGated.
struct RmsNormGated {
  /// `kind` is transformers' class.
  static RmsNormGated load(const io::Loader& loader, std::int64_t width, double eps,
                           std::string_view kind);
  /// x, gate, y (rows, heads · width).
  void operator()(Pass& pass, ConstView x, ConstView gate, View y,
                  const Where& where = Where::current()) const;

  Site site;
  std::vector<float> weight;  ///< (width)
  float eps = 0;
};

/// y = (x − mean) / sqrt(var + eps) · weight + bias. HF: torch.nn.LayerNorm.
struct LayerNorm {
  static LayerNorm load(const io::Loader& loader, std::int64_t width);
  void operator()(Pass& pass, ConstView x, View y, const Where& where = Where::current()) const;

  static constexpr float kEps = 1e-6F;  ///< fixed in transformers' vision tower (specification 5.4)

  Site site;
  std::vector<float> weight, bias;  ///< (width)
};

}  // namespace sightline::nn
