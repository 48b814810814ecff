// What this machine does with the engine's own kernels: two rates, measured in under a second.
#pragma once

#include <string>

namespace sightline::audit {

struct MachineRates {
  double flops = 0;         ///< operations a second of products with many rows
  double weight_bytes = 0;  ///< bytes of weights a second of products with one row
  int threads = 1;
  std::string kernel_set;
};

/// Runs kernels::matmul over bf16 weights on a thread pool. `threads` 0: as many as this process
/// may use; `isa` as in kernels::select. Throws Error(invalid_option).
MachineRates measure_rates(int threads, const std::string& isa);

}  // namespace sightline::audit
