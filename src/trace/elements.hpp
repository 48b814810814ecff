// Elements of any stored type as float64, a run at a time: what statistics and comparisons share.
#pragma once

#include <cstddef>
#include <span>

#include "sightline/tensor.hpp"

namespace sightline::trace {

/// Converts values.size() elements from `data` (any alignment). Integers beyond 2^53 round.
/// Throws Error(tensor_dtype) for the 8-bit floats.
void to_doubles(DType dtype, const std::byte* data, std::span<double> values);

}  // namespace sightline::trace
