// Anonymous maps that nobody writes (reserved.hpp).
#include "base/reserved.hpp"

#include <sys/mman.h>

#include <string>

#include "sightline/error.hpp"

namespace sightline {

ReservedMemory::ReservedMemory(std::size_t bytes, Kind kind) : size_(bytes) {
  const int access = kind == Kind::zeros ? PROT_READ : PROT_NONE;
  void* map = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    throw Error(Code::memory_limit,
                "address space: the system refused a range of " + std::to_string(bytes) + " bytes",
                {{"bytes", std::to_string(bytes)}});
  }
  data_ = static_cast<std::byte*>(map);
}

ReservedMemory::~ReservedMemory() { munmap(data_, size_); }

}  // namespace sightline
