// The AVX-512 set with VNNI once more, its instructions written out in plain C++ (avx512_twin.cpp).
#if defined(__x86_64__)
#include <immintrin.h>
#define SIGHTLINE_AVX512_VNNI
#define SIGHTLINE_AVX512_TWIN "unit/kernels/avx512_plain.hpp"
#include "kernels/x86_avx512.cpp"
#endif

#include "base/cpu.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {

const Kernels* avx512_vnni_twin() {
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  return cpu.avx2 && cpu.fma && cpu.f16c ? &kAvx512VnniTwin : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace sightline::kernels
