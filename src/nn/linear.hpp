// Linear and Embedding: the leaves that own a weight matrix of the checkpoint. Const after load,
// thread-compatible.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"
#include "nn/pass.hpp"
#include "tensor/weight.hpp"

namespace sightline::nn {

/// y = x Wᵀ + b. HF: torch.nn.Linear (and nn.Conv3d with stride = kernel, whose kernel is one
/// flattened row).
struct Linear {
  enum class Bias : bool { none, stored };

  /// Claims `weight` (out, in) and, if stored, `bias` (out) below the loader's path.
  static Linear load(const io::Loader& loader, std::int64_t out, std::int64_t in,
                     Bias bias = Bias::none);
  /// The same for a weight of another rank whose dimensions after the first multiply to `in`.
  static Linear load(const io::Loader& loader, const Shape& weight, Bias bias, Site site);
  /// The site of a torch.nn.Linear.
  static Site linear_site(const io::Loader& loader, std::int64_t out, std::int64_t in, Bias bias);

  /// x (rows, in) to y (rows, out); y must not overlap x.
  void operator()(Pass& pass, ConstView x, View y, const Where& where = Where::current()) const;

  [[nodiscard]] std::int64_t out() const { return weight.out; }
  [[nodiscard]] std::int64_t in() const { return weight.in; }

  Site site;
  Weight weight;
  std::vector<float> bias;  ///< (out), empty without
};

/// Rows of a table. HF: torch.nn.Embedding.
struct Embedding {
  static Embedding load(const io::Loader& loader, std::int64_t rows, std::int64_t width);

  /// y[r] = table[ids[r]]; every id is in [0, rows), checked by the caller. y (ids.size(), width).
  void operator()(Pass& pass, std::span<const std::int32_t> ids, View y,
                  const Where& where = Where::current()) const;

  Site site;
  Weight weight;
};

}  // namespace sightline::nn
