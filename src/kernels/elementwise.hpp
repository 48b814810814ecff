// Row-wise and element-wise operations. Shapes (rows, cols). Output may be the input unless stated.
// A row's bits never depend on other rows or on threads.
#pragma once

#include <cstdint>

#include "base/mat.hpp"
#include "kernels/compute.hpp"

namespace sightline::kernels {

/// y = x · rsqrt(mean(x²) + eps) · (offset + weight), per row; offset 1 for zero-centred weights
/// (specification 7.2), else 0. weight has x.cols values.
void rms_norm(Compute& compute, ConstView x, const float* weight, float offset, float eps,
              View y) noexcept;

/// The gated norm of Gated DeltaNet over groups of `width` columns (x.cols = groups · width,
/// weight[width]): y = x̂ · weight · silu(gate), norm before gate. HF: Qwen3_5RMSNormGated.forward.
void rms_norm_gated(Compute& compute, ConstView x, ConstView gate, const float* weight,
                    std::int64_t width, float eps, View y) noexcept;

/// y = (x − mean) · rsqrt(var + eps) · weight + bias, per row (biased variance).
void layer_norm(Compute& compute, ConstView x, const float* weight, const float* bias, float eps,
                View y) noexcept;

void add(Compute& compute, ConstView a, ConstView b, View y) noexcept;  ///< y = a + b
/// y[to[r]] += scale[r] · x[r] for every row r of x; the target rows are all different.
void add_scaled_rows(Compute& compute, ConstView x, const float* scale, const std::int64_t* to,
                     View y) noexcept;
/// y += sigmoid(gate) · x with one gate a row: gate (rows, 1), x and y (rows, cols).
void add_gated(Compute& compute, ConstView gate, ConstView x, View y) noexcept;
void silu_mul(Compute& compute, ConstView gate, ConstView up,
              View y) noexcept;  ///< y = silu(gate) · up
void sigmoid_mul(Compute& compute, ConstView gate, ConstView x,
                 View y) noexcept;                               ///< y = x · sigmoid(gate)
void gelu_tanh(Compute& compute, ConstView x, View y) noexcept;  ///< tanh form
void gelu_erf(Compute& compute, ConstView x, View y) noexcept;   ///< exact form

/// Rotates the first 2·half dimensions of every head: x (rows, heads · head_dim) in place, pairs
/// (k, k + half), cos and sin (rows, half). x'[k] = x[k]·cos − x[k+half]·sin; x'[k+half] =
/// x[k+half]·cos + x[k]·sin.
void rope(Compute& compute, View x, std::int64_t head_dim, ConstView cos, ConstView sin) noexcept;

}  // namespace sightline::kernels
