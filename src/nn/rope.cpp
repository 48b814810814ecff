// Rotary positions (rope.hpp). Frequencies and angles are float32, as transformers computes them.
#include "nn/rope.hpp"

#include <cmath>

namespace sightline::nn {
namespace {

// 1 / theta^(2k / dim) for k < dim / 2: the power rounded to float32 before the division.
std::vector<float> inverse_frequencies(std::int64_t dim, double theta) {
  std::vector<float> result;
  for (std::int64_t k = 0; k < dim / 2; ++k) {
    const double exponent = static_cast<double>(2 * k) / static_cast<double>(dim);
    result.push_back(1.0F / static_cast<float>(std::pow(theta, exponent)));
  }
  return result;
}

}  // namespace

TextRotaryEmbedding::TextRotaryEmbedding(std::int64_t rotary_dim, double theta,
                                         const std::array<std::int64_t, 3>& section)
    : inv_freq_(inverse_frequencies(rotary_dim, theta)), axis_(inv_freq_.size(), 0) {
  // Start with T everywhere; axis a takes k = a, a + 3, … below 3 · section[a].
  for (std::size_t a = 1; a < 3; ++a) {
    const auto end = std::min(axis_.size(), 3 * static_cast<std::size_t>(section[a]));
    for (std::size_t k = a; k < end; k += 3) axis_[k] = static_cast<std::uint8_t>(a);
  }
}

void TextRotaryEmbedding::operator()(const Positions& positions, std::int64_t first, View cos,
                                     View sin) const {
  for (std::int64_t r = 0; r < cos.rows; ++r) {
    for (std::int64_t k = 0; k < half(); ++k) {
      const auto& axis = positions.axes[axis_[static_cast<std::size_t>(k)]];
      const float angle = static_cast<float>(axis[static_cast<std::size_t>(first + r)]) *
                          inv_freq_[static_cast<std::size_t>(k)];
      cos.row(r)[k] = std::cos(angle);
      sin.row(r)[k] = std::sin(angle);
    }
  }
}

VisionRotaryEmbedding::VisionRotaryEmbedding(std::int64_t head_dim)
    : inv_freq_(inverse_frequencies(head_dim / 2, /*theta=*/10000.0)) {}

void VisionRotaryEmbedding::operator()(std::int64_t row, std::int64_t col, float* cos,
                                       float* sin) const {
  const std::size_t n = inv_freq_.size();
  for (std::size_t k = 0; k < n; ++k) {
    const float by_row = static_cast<float>(row) * inv_freq_[k];
    const float by_col = static_cast<float>(col) * inv_freq_[k];
    cos[k] = std::cos(by_row);
    sin[k] = std::sin(by_row);
    cos[n + k] = std::cos(by_col);
    sin[n + k] = std::sin(by_col);
  }
}

}  // namespace sightline::nn
