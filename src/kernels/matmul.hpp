// Matrix products with a stored weight: y = x Wᵀ + b, and y = x W for the files that store experts
// the other way round. The one place in which the engine multiplies by weights.
#pragma once

#include "base/mat.hpp"
#include "kernels/compute.hpp"
#include "tensor/weight.hpp"

namespace sightline::kernels {

/// y[r, o] = Σ_k x[r, k] · W[o, k] + bias[o] (bias may be null). x (rows, in), W (out, in) as
/// stored or packed, y (rows, out); y must not overlap x. For a given kernel set the bits of a row
/// of y depend on that row of x, W and bias alone: not on how many rows there are, on the number of
/// threads, or on who computed what. In Precision::bf16, a set with tile registers rounds x for a
/// weight stored as bfloat16 (tile_matmul.hpp).
void matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias,
            View y) noexcept;

/// y[r, o] = Σ_k x[r, k] · W[k, o] for a weight, not packed, stored the other way round: (in, out),
/// so that weight.out is its number of stored rows, x.cols, and weight.in is y.cols. Same promises
/// as matmul(); additions in ascending k.
void matmul_transposed(Compute& compute, ConstView x, const Weight& weight, View y) noexcept;

/// Row `index` of a stored or packed matrix, widened to float32: out[0 .. in).
void widen_row(const Weight& weight, std::int64_t index, float* out) noexcept;

}  // namespace sightline::kernels
