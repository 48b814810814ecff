// The list of compiled kernel sets and the choice among them.
#include <algorithm>
#include <string>

#include "base/cpu.hpp"
#include "kernels/table.hpp"
#include "sightline/error.hpp"

namespace sightline::kernels {
namespace {

struct Set {
  const Kernels* kernels;
  bool available;
};

/// Best first.
std::vector<Set> sets() {
  std::vector<Set> list;
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  list.push_back({&kAvx512, cpu.avx512f && cpu.avx512bw && cpu.avx512dq && cpu.avx512vl &&
                                cpu.avx2 && cpu.fma && cpu.f16c});
  list.push_back({&kAvx2, cpu.avx2 && cpu.fma && cpu.f16c});
#endif
  list.push_back({&kReference, true});
  return list;
}

}  // namespace

const Kernels& select(std::string_view name) {
  const bool automatic = name.empty() || name == "auto";
  std::string known = "auto";
  for (const Set& set : sets()) {
    if (set.available && (automatic || set.kernels->name == name)) return *set.kernels;
    if (set.available) known.append(", ").append(set.kernels->name);
  }
  const auto list = list_sets();
  const bool exists =
      std::any_of(list.begin(), list.end(), [&](const SetInfo& set) { return set.name == name; });
  std::string message = "--isa: ";
  message.append(exists ? "this CPU cannot run the kernel set \"" : "unknown kernel set \"");
  message.append(name).append("\"; this CPU runs: ").append(known);
  throw Error(Code::invalid_option, message, {{"option", "--isa"}, {"value", std::string(name)}});
}

std::string_view name_of(const Kernels& kernels) { return kernels.name; }

std::vector<SetInfo> list_sets() {
  std::vector<SetInfo> infos;
  for (const Set& set : sets()) {
    infos.push_back({set.kernels->name, set.available, set.kernels->needs});
  }
  return infos;
}

}  // namespace sightline::kernels
