// Rotary positions: the interleaved three-axis form of the text model and the two-axis form of the
// vision tower. Both produce cosines and sines (rows, half) for kernels::rope.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nn/pass.hpp"

namespace sightline::nn {

/// Positions of rows on the axes temporal, height, width. All three have one length.
struct Positions {
  std::array<std::vector<std::int32_t>, 3> axes;  ///< T, H, W

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(axes[0].size()); }
  void push(std::int32_t t, std::int32_t h, std::int32_t w) {
    axes[0].push_back(t);
    axes[1].push_back(h);
    axes[2].push_back(w);
  }
};

/// HF: Qwen3_5TextRotaryEmbedding (apply_interleaved_mrope). Specification 7.3.
class TextRotaryEmbedding {
 public:
  /// `rotary_dim` (even) of every head are rotated; `section` says how many frequencies follow H
  /// and W.
  TextRotaryEmbedding(std::int64_t rotary_dim, double theta,
                      const std::array<std::int64_t, 3>& section);

  [[nodiscard]] std::int64_t half() const { return static_cast<std::int64_t>(inv_freq_.size()); }
  /// cos and sin (rows, half) of positions [first, first + cos.rows).
  void operator()(const Positions& positions, std::int64_t first, View cos, View sin) const;

 private:
  std::vector<float> inv_freq_;     ///< (half): theta^(−2k / rotary_dim)
  std::vector<std::uint8_t> axis_;  ///< (half): which axis frequency k follows
};

/// Angles of patches at (row, col), theta 10000, half of the frequencies for each axis. HF:
/// Qwen3_5VisionRotaryEmbedding, specification 5.3.
class VisionRotaryEmbedding {
 public:
  explicit VisionRotaryEmbedding(std::int64_t head_dim);
  [[nodiscard]] std::int64_t half() const {
    return 2 * static_cast<std::int64_t>(inv_freq_.size());
  }
  /// One row of cos and sin (half values each).
  void operator()(std::int64_t row, std::int64_t col, float* cos, float* sin) const;

 private:
  std::vector<float> inv_freq_;  ///< (head_dim / 4)
};

}  // namespace sightline::nn
