// Peak memory from /proc (clock.hpp).
#include "generate/clock.hpp"

#include <fstream>
#include <string>

namespace sightline::generate {

std::int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t kibibytes = 0;
  constexpr std::int64_t kKibibyte = 1024;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * kKibibyte;
  }
  return 0;
}

}  // namespace sightline::generate
