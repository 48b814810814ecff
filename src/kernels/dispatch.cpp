// The list of compiled kernel sets and the choice among them.
#include <algorithm>
#include <string>

#include "base/cpu.hpp"
#include "kernels/bytes.hpp"
#include "kernels/pair_mixes.hpp"
#include "kernels/table.hpp"
#include "kernels/tiles.hpp"
#include "sightline/error.hpp"

namespace sightline::kernels {
namespace {

struct Set {
  const Kernels* kernels;
  bool available;
};

/// Products of bfloat16 and of bytes beside the rest of a set; null for those that it lacks.
struct Products {
  const TileProducts* tiles = nullptr;
  const PairMixes* pair_mixes = nullptr;
  const ByteProducts* byte_tiles = nullptr;
};

Kernels with_products(Kernels base, std::string_view name, std::string_view needs,
                      const Products& products) {
  base.name = name;
  base.needs = needs;
  base.tiles = products.tiles;
  base.pair_mixes = products.pair_mixes;
  base.byte_tiles = products.byte_tiles;
  return base;
}

#if defined(__x86_64__)
/// The set for the tile registers of this CPU. A CPU that has them has the rest; where a virtual
/// machine hides avx512_bf16, attention multiplies in float32.
const Kernels& amx(const CpuFeatures& cpu) {
  constexpr unsigned kBytes = 1, kMixes = 2, kTiles = 4;
  static const std::vector<Kernels> all = [] {
    std::vector<Kernels> list;
    for (unsigned has = 0; has <= (kBytes | kMixes | kTiles); ++has) {
      list.push_back(with_products(kAvx512Vnni, "amx",
                                   "amx_tile, amx_bf16 or amx_int8, avx512f avx512bw avx512dq "
                                   "avx512vl avx512_vnni fma f16c",
                                   {(has & kTiles) != 0 ? &kAmxTiles : nullptr,
                                    (has & kMixes) != 0 ? &kAvx512PairMixes : nullptr,
                                    (has & kBytes) != 0 ? &kAmxByteTiles : nullptr}));
    }
    return list;
  }();
  const bool mixes = cpu.amx_bf16 && cpu.avx512_bf16;
  return all[(cpu.amx_bf16 ? kTiles : 0U) | (mixes ? kMixes : 0U) | (cpu.amx_int8 ? kBytes : 0U)];
}

const Kernels& avx512_bf16() {
  static const Kernels set =
      with_products(kAvx512Vnni, "avx512-bf16",
                    "avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16 fma f16c",
                    {&kAvx512Pairs, &kAvx512PairMixes, nullptr});
  return set;
}
#endif

/// Best first, but for the twins.
std::vector<Set> sets(const CpuFeatures& cpu) {
  std::vector<Set> list;
#if defined(__x86_64__)
  const bool avx2 = cpu.avx2 && cpu.fma && cpu.f16c;
  const bool avx512 = avx2 && cpu.avx512f && cpu.avx512bw && cpu.avx512dq && cpu.avx512vl;
  list.push_back(
      {&amx(cpu), avx512 && cpu.avx512_vnni && cpu.amx_tile && (cpu.amx_bf16 || cpu.amx_int8)});
  list.push_back({&avx512_bf16(), avx512 && cpu.avx512_vnni && cpu.avx512_bf16});
  list.push_back({&kAvx512Vnni, avx512 && cpu.avx512_vnni});
  list.push_back({&kAvx512, avx512});
  list.push_back({&kAvx2, avx2});
#else
  static_cast<void>(cpu);
#endif
  list.push_back({&kReference, true});
  return list;
}

const Kernels& best_of(const std::vector<Set>& list) {
  return *std::find_if(list.begin(), list.end(), [](const Set& set) {
            return set.available;
          })->kernels;
}

/// What products of bfloat16 and of bytes the twins stand in for, in plain C++ beside the best set
/// of this machine that has none.
const std::vector<Kernels>& twins() {
  static const std::vector<Kernels> all = [] {
    std::vector<Set> list = sets(cpu_features());
    std::erase_if(list, [](const Set& set) {
      return set.kernels->tiles != nullptr || set.kernels->byte_tiles != nullptr;
    });
    Kernels base = best_of(list);
    if (base.bytes == nullptr) base.bytes = &kPlainBytes;
    return std::vector{with_products(base, "amx-twin", base.needs,
                                     {&kPlainTiles, &kPlainPairMixes, &kPlainByteTiles}),
                       with_products(base, "avx512-bf16-twin", base.needs,
                                     {&kPlainPairs, &kPlainPairMixes, nullptr})};
  }();
  return all;
}

}  // namespace

const Kernels& select(std::string_view name) {
  const std::vector<Set> list = sets(cpu_features());
  if (name.empty() || name == "auto") return best_of(list);
  std::string known = "auto";
  bool exists = false;
  for (const Set& set : list) {
    if (set.available && set.kernels->name == name) return *set.kernels;
    if (set.available) known.append(", ").append(set.kernels->name);
    exists = exists || set.kernels->name == name;
  }
  for (const Kernels& twin : twins()) {
    if (twin.name == name) return twin;
    known.append(", ").append(twin.name);
  }
  std::string message = "--isa: ";
  message.append(exists ? "this CPU cannot run the kernel set \"" : "unknown kernel set \"");
  message.append(name).append("\"; this CPU runs: ").append(known);
  if (exists && !refused_set().empty()) message.append("; ").append(refused_set());
  throw Error(Code::invalid_option, message, {{"option", "--isa"}, {"value", std::string(name)}});
}

std::string_view name_of(const Kernels& kernels) { return kernels.name; }

std::vector<SetInfo> list_sets(const CpuFeatures& cpu) {
  std::vector<SetInfo> infos;
  for (const Set& set : sets(cpu))
    infos.push_back({set.kernels->name, set.available, set.kernels->needs, false});
  for (const Kernels& twin : twins()) infos.push_back({twin.name, true, twin.needs, true});
  return infos;
}

std::vector<SetInfo> list_sets() { return list_sets(cpu_features()); }

std::string_view refused_set(const CpuFeatures& cpu) {
  return cpu.tiles_refused ? "the operating system refuses the tile registers that \"amx\" needs"
                           : "";
}

}  // namespace sightline::kernels
