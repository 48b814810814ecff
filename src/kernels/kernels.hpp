// The kernel table: one set of innermost loops per instruction set, chosen once per engine.
// reference.cpp is plain C++ and the oracle of every other set. Higher-level operations
// (matmul.hpp, elementwise.hpp, attention.hpp, delta_rule.hpp) are written once and call the table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cpu.hpp"

namespace sightline::kernels {

/// Positions of a block of keys and values; blocks start at absolute multiples of it.
inline constexpr std::int64_t kKvBlock = 64;

struct Kernels;  // defined in kernels/table.hpp: only kernel code looks inside

/// The best set that this CPU runs, or the one that `name` asks for ("reference", "avx2", …; "auto"
/// or "" for the best, which is never a twin). Throws Error(invalid_option) for an unknown name, or
/// one that this CPU can not run, listing what it can.
const Kernels& select(std::string_view name);

/// Name of a set, e.g. "avx2".
std::string_view name_of(const Kernels& kernels);

struct SetInfo {
  std::string_view name;
  bool available = false;  ///< this CPU can run it
  std::string_view needs;  ///< CPU features that it needs, e.g. "avx2 fma f16c"
  /// Another set, but for products that follow instructions of other machines step by step in plain
  /// C++: for tests, slow.
  bool twin = false;
};
/// Every compiled set, best first, twins last.
std::vector<SetInfo> list_sets();
/// What it would be on a CPU with these features.
std::vector<SetInfo> list_sets(const CpuFeatures& cpu);

/// Why automatic choice has to do without a set that the CPU could run, in a few words; else empty.
std::string_view refused_set(const CpuFeatures& cpu = cpu_features());

}  // namespace sightline::kernels
