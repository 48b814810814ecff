// Products of bytes as they are defined, in plain C++: the oracle of every other implementation.
#include <cmath>
#include <limits>

#include "kernels/bytes.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kRows = 64, kOuts = 64;  // of a call: any number would do

float greatest_magnitude(const float* x, std::int64_t n) {
  float most = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (!std::isfinite(x[k])) return std::numeric_limits<float>::quiet_NaN();
    most = std::max(most, std::abs(x[k]));
  }
  return most;
}

/// Two's complement, in the order of the columns.
void lay_rows(const ByteRows& p) {
  const std::int64_t steps = integer_steps(p.in);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t first = step * kDotStep, n = std::min(kDotStep, p.in - first);
      const float* x = p.x + r * p.x_stride + first;
      std::byte* out = p.out + r * byte_stride(p.in) + first;
      const StepScale scale = step_scale(greatest_magnitude(x, n), PackedCode::u4);
      p.scales[r * steps + step] = scale.scale;
      for (std::int64_t k = 0; k < n; ++k) {
        const bool zero = scale.inverse == 0;
        out[k] = static_cast<std::byte>(
            zero ? 0 : static_cast<int>(std::nearbyint(x[k] * scale.inverse)));
      }
    }
  }
}

std::int64_t weight_at(const PackedWeight& w, std::int64_t row, std::int64_t k) {
  const std::int32_t integer = integer_at(w, row, k);
  return w.code == PackedCode::u4 ? integer : narrow_integer(integer);
}

void multiply(const DotIntegers& p) {
  const PackedWeight& w = *p.w;
  const float unit = w.code == PackedCode::u4 ? 1 : kNarrowUnit;
  for (std::int64_t o = 0; o < p.outs; ++o) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      float& y = p.y[r * p.y_stride + o];
      for (std::int64_t first = 0; first < w.in; first += kDotStep) {
        const std::int64_t step = first / kDotStep, end = std::min(w.in, first + kDotStep);
        std::int64_t sum = 0;
        for (std::int64_t k = first; k < end; ++k)
          sum +=
              static_cast<std::int8_t>(p.x[r * p.x_stride + k]) * weight_at(w, p.first_out + o, k);
        const float scale = p.x_scales[r * p.steps + step] * unit *
                            w.integers.steps[step * w.integers.step_stride + p.first_out + o];
        const float part = static_cast<float>(sum) * scale;
        y = first == 0 ? part : y + part;
      }
      if (p.bias != nullptr) y += p.bias[o];
    }
  }
}

}  // namespace

const ByteProducts kPlainBytes{kRows, kOuts, lay_rows, multiply, true};

}  // namespace sightline::kernels
