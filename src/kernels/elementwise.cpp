// Row-wise operations: rows to threads, each row to the table.
#include "kernels/elementwise.hpp"

#include <cmath>

#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

/// Calls fn(r) for every row.
template <class F>
void each_row(Compute& compute, std::int64_t rows, std::int64_t cols, const F& fn) {
  for_row_blocks(compute, rows, cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) fn(r);
  });
}

/// Operations per element, as counted: a division, root or exponential is one.
constexpr std::int64_t kNorm = 4, kLayerNorm = 6, kGate = 5, kAdd = 1, kGelu = 8, kRope = 3;

/// Work of a row-wise operation that reads `reads` matrices of x's size and writes one.
Work row_work(ConstView x, std::int64_t operations, std::int64_t reads) {
  const std::int64_t n = x.rows * x.cols;
  return {operations * n, 0, (reads + 1) * n * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace

void rms_norm(Compute& compute, ConstView x, const float* weight, float offset, float eps,
              View y) noexcept {
  if (compute.count(row_work(x, kNorm, 1))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    compute.kernels.rms_norm(x.row(r), weight, offset, eps, x.cols, y.row(r));
  });
}

void rms_norm_gated(Compute& compute, ConstView x, ConstView gate, const float* weight,
                    std::int64_t width, float eps, View y) noexcept {
  if (compute.count(row_work(x, kNorm + kGate, 2))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    for (std::int64_t c = 0; c < x.cols; c += width) {
      compute.kernels.rms_norm_gated(x.row(r) + c, gate.row(r) + c, weight, eps, width,
                                     y.row(r) + c);
    }
  });
}

void layer_norm(Compute& compute, ConstView x, const float* weight, const float* bias, float eps,
                View y) noexcept {
  if (compute.count(row_work(x, kLayerNorm, 1))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    compute.kernels.layer_norm(x.row(r), weight, bias, eps, x.cols, y.row(r));
  });
}

void add(Compute& compute, ConstView a, ConstView b, View y) noexcept {
  if (compute.count(row_work(a, kAdd, 2))) return;
  each_row(compute, a.rows, a.cols,
           [&](std::int64_t r) { compute.kernels.add(a.row(r), b.row(r), a.cols, y.row(r)); });
}

void add_scaled_rows(Compute& compute, ConstView x, const float* scale, const std::int64_t* to,
                     View y) noexcept {
  if (compute.count(row_work(x, 2 * kAdd, 2))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    const float* from = x.row(r);
    float* into = y.row(to[r]);
    for (std::int64_t c = 0; c < x.cols; ++c) into[c] += scale[r] * from[c];
  });
}

void add_gated(Compute& compute, ConstView gate, ConstView x, View y) noexcept {
  if (compute.count(row_work(x, 2 * kAdd, 2))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    const float* from = x.row(r);
    float* into = y.row(r);
    const float share = 1.0F / (1.0F + std::exp(-gate.row(r)[0]));
    for (std::int64_t c = 0; c < x.cols; ++c) into[c] += share * from[c];
  });
}

void silu_mul(Compute& compute, ConstView gate, ConstView up, View y) noexcept {
  if (compute.count(row_work(gate, kGate, 2))) return;
  each_row(compute, gate.rows, gate.cols, [&](std::int64_t r) {
    compute.kernels.silu_mul(gate.row(r), up.row(r), gate.cols, y.row(r));
  });
}

void sigmoid_mul(Compute& compute, ConstView gate, ConstView x, View y) noexcept {
  if (compute.count(row_work(gate, kGate, 2))) return;
  each_row(compute, gate.rows, gate.cols, [&](std::int64_t r) {
    compute.kernels.sigmoid_mul(gate.row(r), x.row(r), gate.cols, y.row(r));
  });
}

void gelu_tanh(Compute& compute, ConstView x, View y) noexcept {
  if (compute.count(row_work(x, kGelu, 1))) return;
  each_row(compute, x.rows, x.cols,
           [&](std::int64_t r) { compute.kernels.gelu_tanh(x.row(r), x.cols, y.row(r)); });
}

void gelu_erf(Compute& compute, ConstView x, View y) noexcept {
  if (compute.count(row_work(x, kGelu, 1))) return;
  each_row(compute, x.rows, x.cols,
           [&](std::int64_t r) { compute.kernels.gelu_erf(x.row(r), x.cols, y.row(r)); });
}

void rope(Compute& compute, View x, std::int64_t head_dim, ConstView cos, ConstView sin) noexcept {
  if (compute.count(row_work(x, kRope, 1))) return;
  each_row(compute, x.rows, x.cols, [&](std::int64_t r) {
    for (std::int64_t c = 0; c < x.cols; c += head_dim) {
      compute.kernels.rope(x.row(r) + c, cos.row(r), sin.row(r), cos.cols);
    }
  });
}

}  // namespace sightline::kernels
