// Keys' cubic kernel (a = -0.5) widened by the scale, normalised in double, then rounded to 16
// bits.
#include "image/resize_filter.hpp"

#include <algorithm>
#include <cmath>

namespace sightline::image {
namespace {

constexpr int kMaxPrecision = 22;
constexpr double kKernelRadius = 2.0;

double cubic(double x) {
  x = std::fabs(x);
  if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1.0;
  if (x < 2.0) return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0;
  return 0.0;
}

// The number without what follows its point. With 0.5 added before it, the reference's rounding,
// which is llround's only for what is not negative.
std::int64_t truncated(double x) { return static_cast<std::int64_t>(x); }

// The most bits after the point at which the largest weight still fits 15 bits.
int choose_precision(double largest) {
  int precision = 0;
  while (precision < kMaxPrecision &&
         truncated(0.5 + largest * static_cast<double>(1 << (precision + 1))) < (1 << 15)) {
    ++precision;
  }
  return precision;
}

std::int16_t fixed_point(double weight, int precision) {
  const double scaled = weight * static_cast<double>(1 << precision);
  return static_cast<std::int16_t>(truncated(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
}

}  // namespace

AxisFilter make_axis_filter(std::int64_t in, std::int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double widening = std::max(scale, 1.0);
  const double support = kKernelRadius * widening;
  AxisFilter filter;
  filter.windows.reserve(static_cast<std::size_t>(out));
  std::vector<double> weights;
  double largest = 0;
  for (std::int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t low = std::max<std::int64_t>(0, truncated(centre - support + 0.5));
    const std::int64_t high = std::min(in, truncated(centre + support + 0.5));
    const std::size_t begin = weights.size();
    double sum = 0;
    for (std::int64_t j = low; j < high; ++j) {
      weights.push_back(cubic((static_cast<double>(j) - centre + 0.5) / widening));
      sum += weights.back();
    }
    for (std::size_t j = begin; j < weights.size(); ++j) {
      weights[j] /= sum;
      largest = std::max(largest, weights[j]);
    }
    filter.windows.push_back({low, high - low, begin});
    filter.max_count = std::max(filter.max_count, high - low);
  }
  filter.precision = choose_precision(largest);
  filter.weights.reserve(weights.size());
  for (const double weight : weights)
    filter.weights.push_back(fixed_point(weight, filter.precision));
  return filter;
}

}  // namespace sightline::image
