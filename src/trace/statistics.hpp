// A tensor in a few numbers, for traces that are read by people.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/tensor.hpp"

namespace sightline::trace {

/// Over the finite elements, in float64; all zero if there is none.
struct Statistics {
  std::int64_t elements = 0;    ///< all, finite or not
  std::int64_t non_finite = 0;  ///< nan + inf
  std::int64_t nan = 0, inf = 0;
  double min = 0, max = 0, mean = 0, rms = 0;
  double std = 0;  ///< of the whole population: sqrt(Σ (x − mean)² / n)
  double l2 = 0;   ///< sqrt(Σ x²)
};

/// Of any element type except the 8-bit floats, which no run produces; throws Error(tensor_dtype)
/// for those. Rows may be strided.
Statistics statistics(const TensorRef& tensor);

/// Where the values of a tensor lie: how often each part of its range occurs, and how long each row
/// of its last dimension is.
struct Maps {
  double min = 0, max = 0;              ///< range of the bins, that of the finite elements
  std::vector<std::int64_t> histogram;  ///< kHistogramBins equal parts of [min, max]
  std::vector<double> row_norms;        ///< L2 norm of the finite elements of each row
};
inline constexpr int kHistogramBins = 64;

/// `known` are the statistics of the same tensor. Throws as statistics().
Maps maps(const TensorRef& tensor, const Statistics& known);

}  // namespace sightline::trace
