// CPUID leaves 1, 7.0 and 7.1, XCR0, and Linux's permission for AMX tile data.
#include "base/cpu.hpp"

#include <cstdint>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace sightline {

#if defined(__x86_64__)
namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1U) != 0; }

/// Register groups that the operating system saves (XCR0).
std::uint64_t saved_state() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

bool all_set(std::uint64_t word, std::initializer_list<int> bits) {
  for (const int index : bits) {
    if (((word >> index) & 1U) == 0) return false;
  }
  return true;
}

/// Linux hands tile data registers out on request (Documentation/arch/x86/xstate.rst).
bool request_tiles() {
#if defined(__linux__)
  constexpr long kArchRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;                   // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kArchRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

CpuFeatures detect() {
  CpuFeatures features;
  const Registers basic = cpuid(1, 0);
  const bool osxsave = bit(basic.c, 27);
  if (!osxsave) return features;
  const std::uint64_t saved = saved_state();
  const Registers extended = cpuid(7, 0);
  const Registers more = extended.a >= 1 ? cpuid(7, 1) : Registers{};
  if (all_set(saved, {1, 2})) {  // SSE and AVX state
    features.fma = bit(basic.c, 12);
    features.f16c = bit(basic.c, 29);
    features.avx2 = bit(extended.b, 5);
  }
  if (all_set(saved, {1, 2, 5, 6, 7})) {  // and opmask, upper halves, upper registers
    features.avx512f = bit(extended.b, 16);
    features.avx512dq = bit(extended.b, 17);
    features.avx512bw = bit(extended.b, 30);
    features.avx512vl = bit(extended.b, 31);
    features.avx512_vnni = bit(extended.c, 11);
    features.avx512_bf16 = bit(more.a, 5);
  }
  const bool has_tiles = bit(extended.d, 24);
  features.amx_tile = has_tiles && all_set(saved, {17, 18}) && request_tiles();
  features.tiles_refused = has_tiles && !features.amx_tile;
  if (features.amx_tile) {
    features.amx_bf16 = bit(extended.d, 22);
    features.amx_int8 = bit(extended.d, 25);
  }
  return features;
}

}  // namespace
#else
namespace {
CpuFeatures detect() { return {}; }
}  // namespace
#endif

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string describe(const CpuFeatures& f) {
  struct Flag {
    bool on;
    const char* name;
  };
  std::string text;
  for (const Flag flag :
       {Flag{f.avx2, "avx2"}, Flag{f.fma, "fma"}, Flag{f.f16c, "f16c"}, Flag{f.avx512f, "avx512f"},
        Flag{f.avx512bw, "avx512bw"}, Flag{f.avx512dq, "avx512dq"}, Flag{f.avx512vl, "avx512vl"},
        Flag{f.avx512_bf16, "avx512_bf16"}, Flag{f.avx512_vnni, "avx512_vnni"},
        Flag{f.amx_tile, "amx_tile"}, Flag{f.amx_bf16, "amx_bf16"}, Flag{f.amx_int8, "amx_int8"}}) {
    if (!flag.on) continue;
    if (!text.empty()) text += ' ';
    text += flag.name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace sightline
