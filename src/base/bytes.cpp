// madvise behind prefer_large_pages() (bytes.hpp).
#include "base/bytes.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace sightline {

void prefer_large_pages(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLarge = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + kLarge - 1) / kLarge * kLarge;
  const std::uintptr_t end = (address + bytes) / kLarge * kLarge;
  if (end > begin) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

}  // namespace sightline
