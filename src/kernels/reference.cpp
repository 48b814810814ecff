// The plain set: C++ as the formulas read, sums in double precision. The oracle of every other set,
// and what runs where no other set does.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bf16.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

float element(DType dtype, const std::byte* row, std::int64_t k) {
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, row + k * 4, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, row + k * 2, 2);
  return dtype == DType::bf16 ? widen(bf16{bits}) : widen(f16{bits});
}

void widen_values(DType dtype, const std::byte* source, std::int64_t n, float* out) {
  for (std::int64_t k = 0; k < n; ++k) out[k] = element(dtype, source, k);
}

double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

void dot_panel(const DotPanel& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t o = 0; o < p.cols; ++o) {
      const auto step =
          static_cast<float>(dot(p.a + r * p.a_stride, p.b + o * p.b_stride, p.depth));
      float& c = p.c[r * p.c_stride + o];
      c = p.accumulate ? c + step : step;
    }
  }
}

void dot_stored(const DotStored& p) {
  float row[kDotStep];
  for (std::int64_t o = 0; o < p.outs; ++o) {
    const std::byte* w = p.w + o * p.in * dtype_size(p.dtype);
    for (std::int64_t first = 0; first < p.in; first += kDotStep) {
      const std::int64_t depth = std::min(kDotStep, p.in - first);
      widen_values(p.dtype, w + first * dtype_size(p.dtype), depth, row);
      dot_panel(
          {p.x + first, p.x_stride, p.rows, row, 0, 1, p.y + o, p.y_stride, depth, first > 0});
    }
    for (std::int64_t r = 0; p.bias != nullptr && r < p.rows; ++r)
      p.y[r * p.y_stride + o] += p.bias[o];
  }
}

float code_value(PackedCode code, const std::byte* row, std::int64_t k) {
  if (code == PackedCode::u4) {
    const auto both = static_cast<unsigned>(row[k / 2]);
    return static_cast<float>(k % 2 == 0 ? both & 0xfU : both >> 4U);
  }
  const auto bits = static_cast<std::uint8_t>(row[k]);
  if (code == PackedCode::f8_e4m3) return widen(f8_e4m3{bits});
  return code == PackedCode::i8 ? static_cast<float>(static_cast<std::int8_t>(bits))
                                : static_cast<float>(bits);
}

void unpack(const PackedRun& run, float* out) {
  const PackedWeight& w = *run.w;
  for (std::int64_t i = 0; i < run.n; ++i) {
    const std::int64_t k = run.first + i, group = w.group_of(run.row, k);
    out[i] = (code_value(w.code, w.row(run.row), k) - w.zero_of(group)) * w.scale(group);
  }
}

void dot_packed(const DotPacked& p) {
  float row[kDotStep];
  for (std::int64_t o = 0; o < p.outs; ++o) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
      const std::int64_t depth = std::min(kDotStep, p.w->in - first);
      unpack({p.w, p.first_out + o, first, depth}, row);
      dot_panel(
          {p.x + first, p.x_stride, p.rows, row, 0, 1, p.y + o, p.y_stride, depth, first > 0});
    }
    for (std::int64_t r = 0; p.bias != nullptr && r < p.rows; ++r)
      p.y[r * p.y_stride + o] += p.bias[o];
  }
}

float round_step(const float* x, std::int64_t n, PackedCode code, std::byte* out) {
  float most = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (!std::isfinite(x[k])) most = std::numeric_limits<float>::quiet_NaN();
    if (!(std::abs(x[k]) <= most)) most = std::isnan(most) ? most : std::abs(x[k]);
  }
  const StepScale scale = step_scale(most, code);
  const std::int64_t padded =
      (n + activation_pad(code) - 1) / activation_pad(code) * activation_pad(code);
  for (std::int64_t k = 0; k < padded; ++k) {
    const bool zero = k >= n || scale.inverse == 0;
    const auto value = zero ? 0 : static_cast<int>(std::nearbyint(x[k] * scale.inverse));
    if (code == PackedCode::u4) {
      out[k] = static_cast<std::byte>(k < n ? value + kByteMiddle : 0);
    } else {
      const auto stored = static_cast<std::int16_t>(value);
      std::memcpy(out + k * activation_bytes(code), &stored, sizeof stored);
    }
  }
  return scale.scale;
}

/// Rounded activation `k` of a row.
std::int64_t activation(const std::byte* row, PackedCode code, std::int64_t k) {
  if (code == PackedCode::u4) return std::to_integer<std::int64_t>(row[k]) - kByteMiddle;
  std::int16_t value = 0;
  std::memcpy(&value, row + k * activation_bytes(code), sizeof value);
  return value;
}

void dot_integers(const DotIntegers& p) {
  const PackedWeight& w = *p.w;
  for (std::int64_t o = 0; o < p.outs; ++o) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      float& y = p.y[r * p.y_stride + o];
      for (std::int64_t first = 0; first < w.in; first += kDotStep) {
        const std::int64_t step = first / kDotStep, end = std::min(w.in, first + kDotStep);
        std::int64_t sum = 0;
        for (std::int64_t k = first; k < end; ++k)
          sum += activation(p.x + r * p.x_stride, w.code, k) * integer_at(w, p.first_out + o, k);
        const float scale = p.x_scales[r * p.steps + step] *
                            w.integers.steps[step * w.integers.step_stride + p.first_out + o];
        const float part = static_cast<float>(sum) * scale;
        y = first == 0 ? part : y + part;
      }
      if (p.bias != nullptr) y += p.bias[o];
    }
  }
}

void mix_panel(const MixPanel& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float keep = p.row_scale != nullptr ? p.row_scale[r] : p.scale;
    for (std::int64_t d = 0; d < p.cols; ++d) {
      float& c = p.c[r * p.c_stride + d];
      double sum = keep == 0 ? 0.0 : static_cast<double>(c) * static_cast<double>(keep);
      for (std::int64_t k = 0; k < p.depth; ++k) {
        sum += static_cast<double>(p.a[r * p.a_row + k * p.a_col]) *
               static_cast<double>(p.b[k * p.b_stride + d]);
      }
      c = static_cast<float>(sum);
    }
  }
}

float softmax_step(float* scores, std::int64_t n, float scale, float* max, float* sum) {
  float top = *max;
  for (std::int64_t p = 0; p < n; ++p) {
    scores[p] *= scale;
    top = scores[p] > top ? scores[p] : top;
  }
  const float keep = std::exp(*max - top);
  double added = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    scores[p] = std::exp(scores[p] - top);
    added += static_cast<double>(scores[p]);
  }
  std::fill(scores + n, scores + kKvBlock, 0.0F);
  *sum = static_cast<float>(static_cast<double>(*sum) * static_cast<double>(keep) + added);
  *max = top;
  return keep;
}

void delta_step(const DeltaStep& p) {
  double error[kDeltaColumns];
  double out[kDeltaColumns] = {};
  for (std::int64_t c = 0; c < kDeltaColumns; ++c) {
    double sum = 0;
    for (std::int64_t k = 0; k < p.key_dim; ++k) {
      float& s = p.state[k * p.stride + c];
      s *= p.decay;
      sum += static_cast<double>(s) * static_cast<double>(p.k[k]);
    }
    error[c] = static_cast<double>(p.beta) * (static_cast<double>(p.v[c]) - sum);
  }
  for (std::int64_t k = 0; k < p.key_dim; ++k) {
    for (std::int64_t c = 0; c < kDeltaColumns; ++c) {
      float& s = p.state[k * p.stride + c];
      s = static_cast<float>(static_cast<double>(s) + static_cast<double>(p.k[k]) * error[c]);
      out[c] += static_cast<double>(s) * static_cast<double>(p.q[k]);
    }
  }
  for (std::int64_t c = 0; c < kDeltaColumns; ++c) p.out[c] = static_cast<float>(out[c]);
}

void decay_row(double at, const double* sums, std::int64_t n, float* out) {
  for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<float>(std::exp(at - sums[j]));
}

double sum_of_squares(const float* x, std::int64_t n) { return dot(x, x, n); }

void l2_norm(const float* x, std::int64_t n, float scale, float* y) {
  constexpr double kEps = 1e-6;  // specification 7.2
  const double factor = static_cast<double>(scale) / std::sqrt(sum_of_squares(x, n) + kEps);
  for (std::int64_t k = 0; k < n; ++k)
    y[k] = static_cast<float>(static_cast<double>(x[k]) * factor);
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }

void conv_silu(const float* const* rows, const float* taps, std::int64_t taps_stride,
               std::int64_t width, std::int64_t n, float* y) {
  for (std::int64_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      sum += static_cast<double>(taps[j * taps_stride + c]) * static_cast<double>(rows[j][c]);
    }
    y[c] = static_cast<float>(silu(sum));
  }
}

void rms_norm(const float* x, const float* weight, float offset, float eps, std::int64_t n,
              float* y) {
  const double factor =
      1.0 / std::sqrt(sum_of_squares(x, n) / static_cast<double>(n) + static_cast<double>(eps));
  for (std::int64_t k = 0; k < n; ++k) {
    const double w = static_cast<double>(offset) + static_cast<double>(weight[k]);
    y[k] = static_cast<float>(static_cast<double>(x[k]) * factor * w);
  }
}

void rms_norm_gated(const float* x, const float* gate, const float* weight, float eps,
                    std::int64_t n, float* y) {
  const double factor =
      1.0 / std::sqrt(sum_of_squares(x, n) / static_cast<double>(n) + static_cast<double>(eps));
  for (std::int64_t k = 0; k < n; ++k) {
    const double normed = static_cast<double>(x[k]) * factor * static_cast<double>(weight[k]);
    y[k] = static_cast<float>(normed * silu(static_cast<double>(gate[k])));
  }
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, std::int64_t n,
                float* y) {
  double mean = 0;
  for (std::int64_t k = 0; k < n; ++k) mean += static_cast<double>(x[k]);
  mean /= static_cast<double>(n);
  double variance = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const double delta = static_cast<double>(x[k]) - mean;
    variance += delta * delta;
  }
  const double factor =
      1.0 / std::sqrt(variance / static_cast<double>(n) + static_cast<double>(eps));
  for (std::int64_t k = 0; k < n; ++k) {
    const double normed = (static_cast<double>(x[k]) - mean) * factor;
    y[k] =
        static_cast<float>(normed * static_cast<double>(weight[k]) + static_cast<double>(bias[k]));
  }
}

void add(const float* a, const float* b, std::int64_t n, float* y) {
  for (std::int64_t k = 0; k < n; ++k) y[k] = a[k] + b[k];
}

void silu_mul(const float* gate, const float* up, std::int64_t n, float* y) {
  for (std::int64_t k = 0; k < n; ++k) {
    y[k] = static_cast<float>(silu(static_cast<double>(gate[k])) * static_cast<double>(up[k]));
  }
}

void sigmoid_mul(const float* gate, const float* x, std::int64_t n, float* y) {
  for (std::int64_t k = 0; k < n; ++k) {
    y[k] = static_cast<float>(sigmoid(static_cast<double>(gate[k])) * static_cast<double>(x[k]));
  }
}

void gelu_tanh(const float* source, std::int64_t n, float* y) {
  constexpr double kRoot = 0.79788456080286535588;  // sqrt(2 / pi)
  constexpr double kCubic = 0.044715;               // specification 5.4
  for (std::int64_t k = 0; k < n; ++k) {
    const double x = static_cast<double>(source[k]);
    // 0.5 (1 + tanh u) = sigmoid(2 u), which does not cancel where u is very negative.
    y[k] = static_cast<float>(x * sigmoid(2.0 * kRoot * (x + kCubic * x * x * x)));
  }
}

void gelu_erf(const float* source, std::int64_t n, float* y) {
  constexpr double kHalfRoot = 0.70710678118654752440;  // 1 / sqrt(2)
  for (std::int64_t k = 0; k < n; ++k) {
    const double x = static_cast<double>(source[k]);
    y[k] = static_cast<float>(0.5 * x * std::erfc(-x * kHalfRoot));
  }
}

void rope(float* x, const float* cos, const float* sin, std::int64_t half) {
  for (std::int64_t k = 0; k < half; ++k) {
    const float low = x[k];
    const float high = x[k + half];
    x[k] = low * cos[k] - high * sin[k];
    x[k + half] = high * cos[k] + low * sin[k];
  }
}

double multiply_adds(std::int64_t rounds) {
  constexpr int kChains = 16;
  float chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = static_cast<float>(i);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (float& chain : chains) chain = chain * 0.5F + 0.5F;
  }
  float sum = 0;
  for (const float chain : chains) sum += chain;
  return sum < 0 ? 0 : static_cast<double>(rounds) * 2 * kChains;  // never negative: uses the loop
}

}  // namespace

const Kernels kReference = {
    .name = "reference",
    .needs = "",
    .lanes = 1,
    .widen = widen_values,
    .dot_panel = dot_panel,
    .dot_stored = dot_stored,
    .mix_panel = mix_panel,
    .unpack = unpack,
    .dot_packed = dot_packed,
    .round_step = round_step,
    .dot_integers = dot_integers,
    .softmax_step = softmax_step,
    .delta_step = delta_step,
    .decay_row = decay_row,
    .l2_norm = l2_norm,
    .conv_silu = conv_silu,
    .rms_norm = rms_norm,
    .rms_norm_gated = rms_norm_gated,
    .layer_norm = layer_norm,
    .add = add,
    .silu_mul = silu_mul,
    .sigmoid_mul = sigmoid_mul,
    .gelu_tanh = gelu_tanh,
    .gelu_erf = gelu_erf,
    .rope = rope,
    .multiply_adds = multiply_adds,
};

}  // namespace sightline::kernels
