// What this CPU (and its operating system) can run. Detected once; constant afterwards.
#pragma once

#include <string>

namespace sightline {

/// Instruction sets that kernels ask about. A flag is true only if the operating system saves the
/// registers too.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false;
  bool avx512_bf16 = false, avx512_vnni = false;
  bool amx_tile = false, amx_bf16 = false,
       amx_int8 = false;       ///< the kernel has granted the tile registers
  bool tiles_refused = false;  ///< the CPU has tile registers, the kernel does not grant them
};

/// The features of the machine. The first call asks the kernel for the tile registers, for this
/// process and all its threads; all false where the architecture is not x86-64.
const CpuFeatures& cpu_features();

/// The true flags by name, blank-separated, e.g. "avx2 fma f16c"; "none" if there are none.
std::string describe(const CpuFeatures& features);

}  // namespace sightline
