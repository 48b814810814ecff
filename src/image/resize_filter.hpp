// Fixed-point weights of the bicubic resize along one axis. Private to resize.cpp and its tests.
#pragma once

#include <cstdint>
#include <vector>

namespace sightline::image {

/// For every output index: the first input index, how many inputs, and a 16-bit weight for each.
struct AxisFilter {
  struct Window {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::size_t weights = 0;  ///< index of its first weight
  };
  int precision = 0;  ///< weights are multiples of 2^-precision
  std::int64_t max_count = 0;
  std::vector<Window> windows;
  std::vector<std::int16_t> weights;
};

/// Weights that take `in` samples to `out`. Source: specification section 2.3, the 16-bit form.
AxisFilter make_axis_filter(std::int64_t in, std::int64_t out);

}  // namespace sightline::image
