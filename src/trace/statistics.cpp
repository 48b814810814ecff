// One pass over the rows (statistics.hpp).
#include "trace/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "trace/elements.hpp"

namespace sightline::trace {

Statistics statistics(const TensorRef& tensor) {
  Statistics result;
  result.elements = tensor.shape.elements();
  const std::int64_t cols = tensor.shape.back();
  double sum = 0, squares = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  std::vector<double> row(static_cast<std::size_t>(cols));
  for (std::int64_t r = 0; cols > 0 && r < result.elements / cols; ++r) {
    to_doubles(tensor.dtype, tensor.data + r * tensor.row_stride * dtype_size(tensor.dtype), row);
    for (const double value : row) {
      if (!std::isfinite(value)) {
        ++result.non_finite;
        continue;
      }
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
      squares += value * value;
    }
  }
  const auto finite = static_cast<double>(result.elements - result.non_finite);
  if (finite == 0) return result;
  result.min = least;
  result.max = most;
  result.mean = sum / finite;
  result.rms = std::sqrt(squares / finite);
  return result;
}

}  // namespace sightline::trace
