// y = x Wᵀ + b with activations of 8 bits: what matmul() does where the kernel set has products of
// bytes. Only src/kernels/ includes this file.
#pragma once

#include "base/mat.hpp"
#include "kernels/compute.hpp"
#include "tensor/weight.hpp"

namespace sightline::kernels {

/// True if byte_matmul() computes products of so many rows with this weight: it has an integer form
/// and codes of 8 bits (has_narrow_integers), and the set has products of bytes; or codes of 4
/// bits, tile registers multiply them, and there are many rows, which alters no bit.
bool takes_bytes(const Compute& compute, const Weight& weight, std::int64_t rows);

/// matmul() for such a weight, with its promises; x is in the order of the weight's columns. Few
/// rows are multiplied in vectors, many in tile registers where there are some: the same bits.
void byte_matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias,
                 View y) noexcept;

}  // namespace sightline::kernels
