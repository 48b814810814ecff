// A tensor in five numbers, for traces that are read by people.
#pragma once

#include <cstdint>

#include "sightline/tensor.hpp"

namespace sightline::trace {

/// Over the finite elements, in float64; all zero if there is none.
struct Statistics {
  std::int64_t elements = 0;    ///< all, finite or not
  std::int64_t non_finite = 0;  ///< NaN and infinities
  double min = 0, max = 0, mean = 0, rms = 0;
};

/// Of any element type except the 8-bit floats, which no run produces; throws Error(tensor_dtype)
/// for those. Rows may be strided.
Statistics statistics(const TensorRef& tensor);

}  // namespace sightline::trace
