// y = x Wᵀ + b with tile registers: what matmul() does where the kernel set has them. Only
// src/kernels/ includes this file.
#pragma once

#include "base/mat.hpp"
#include "kernels/compute.hpp"
#include "tensor/weight.hpp"

namespace sightline::kernels {

/// True if tile_matmul() computes products with this weight: it is stored as bfloat16, the set has
/// tile registers, and the precision lets activations be rounded. Never a matter of the rows, so
/// that one row and many have the same bits.
bool takes_tiles(const Compute& compute, const Weight& weight);

/// matmul() for such a weight, with its promises. Activations are rounded to bfloat16; the sums are
/// those of TileProduct.
void tile_matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias,
                 View y) noexcept;

}  // namespace sightline::kernels
