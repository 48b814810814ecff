// What this machine can do at most: the two limits that every stage is held against.
#pragma once

#include "kernels/compute.hpp"

namespace sightline::kernels {

struct MachineLimits {
  double flops = 0;       ///< operations a second of nothing but multiply-adds,
  bool tiles = false;     ///< of bfloat16 in tile registers (else of float32)
  double read_bytes = 0;  ///< bytes a second read from memory that no cache holds
};

/// Measures on all threads of `compute` with its kernel set and precision; takes about a second and
/// 256 MiB.
MachineLimits measure_limits(const Compute& compute);

}  // namespace sightline::kernels
