// What this machine does with the engine's own kernels: three rates, measured in about a second.
#pragma once

#include <cstdint>
#include <string>

namespace sightline::audit {

struct MachineRates {
  double flops = 0;             ///< operations a second of products with many rows
  double weight_bytes = 0;      ///< bytes of weights a second of products with one row
  double activation_bytes = 0;  ///< bytes of operands a second of what is no product
  int threads = 1;
  std::string kernel_set;
};

/// What the rates are measured with: sizes like those of the work to be estimated.
struct RateShape {
  std::int64_t width = 2048, rows = 256;  ///< of products with many rows
  std::int64_t weight_bytes = std::int64_t{128}
                              << 20;  ///< read by one row; more than a cache holds
};

/// Runs kernels over bf16 weights on a thread pool: products with many rows and with one, and
/// norms and activations. `threads` 0: as many as this process may use; `isa` as in
/// kernels::select. Throws Error(invalid_option).
MachineRates measure_rates(int threads, const std::string& isa, const RateShape& shape = {});

}  // namespace sightline::audit
