// Passes over the rows (statistics.hpp).
#include "trace/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trace/elements.hpp"

namespace sightline::trace {
namespace {

/// Calls f with every row of the last dimension as float64.
template <class F>
void for_rows(const TensorRef& tensor, const F& f) {
  const std::int64_t cols = tensor.shape.back(), elements = tensor.shape.elements();
  if (elements == 0) return;
  std::vector<double> row(static_cast<std::size_t>(cols));
  for (std::int64_t r = 0; r < elements / cols; ++r) {
    to_doubles(tensor.dtype, tensor.data + r * tensor.row_stride * dtype_size(tensor.dtype), row);
    f(row);
  }
}

/// Mean and squared deviations of a growing set of numbers. Parts are joined as Chan, Golub and
/// LeVeque do (1979), so that a large mean costs no digits.
struct Moments {
  double count = 0, mean = 0, deviations = 0;

  void join(const Moments& part) {
    if (part.count == 0) return;
    const double total = count + part.count, delta = part.mean - mean;
    mean += delta * part.count / total;
    deviations += part.deviations + delta * delta * count * part.count / total;
    count = total;
  }
};

Moments moments_of(const std::vector<double>& row) {
  Moments part;
  double sum = 0;
  for (const double value : row) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++part.count;
  }
  if (part.count == 0) return part;
  part.mean = sum / part.count;
  for (const double value : row) {
    const double away = value - part.mean;
    if (std::isfinite(value)) part.deviations += away * away;
  }
  return part;
}

}  // namespace

Statistics statistics(const TensorRef& tensor) {
  Statistics result;
  result.elements = tensor.shape.elements();
  double squares = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  Moments moments;
  for_rows(tensor, [&](const std::vector<double>& row) {
    for (const double value : row) {
      if (std::isnan(value)) ++result.nan;
      if (std::isinf(value)) ++result.inf;
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
      squares += value * value;
    }
    moments.join(moments_of(row));
  });
  result.non_finite = result.nan + result.inf;
  if (moments.count == 0) return result;
  result.min = least;
  result.max = most;
  result.mean = moments.mean;
  result.rms = std::sqrt(squares / moments.count);
  result.std = std::sqrt(moments.deviations / moments.count);
  result.l2 = std::sqrt(squares);
  return result;
}

Maps maps(const TensorRef& tensor, const Statistics& known) {
  Maps result{known.min, known.max, std::vector<std::int64_t>(kHistogramBins, 0), {}};
  const double range = known.max - known.min;
  for_rows(tensor, [&](const std::vector<double>& row) {
    double squares = 0;
    for (const double value : row) {
      if (!std::isfinite(value)) continue;
      squares += value * value;
      const double place = range > 0 ? (value - known.min) / range * kHistogramBins : 0;
      const auto bin = std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0,
                                                std::int64_t{kHistogramBins} - 1);
      ++result.histogram[static_cast<std::size_t>(bin)];
    }
    result.row_norms.push_back(std::sqrt(squares));
  });
  return result;
}

}  // namespace sightline::trace
