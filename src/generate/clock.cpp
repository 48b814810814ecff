// What the system counts about this process (clock.hpp).
#include "generate/clock.hpp"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace sightline::generate {
namespace {

/// The number after a word of one of the process's files; 0 if it is not there.
std::int64_t number_after(const char* file, const std::string& wanted) {
  std::ifstream status(file);
  std::string word;
  std::int64_t number = 0;
  while (status >> word) {
    if (word == wanted && status >> number) return number;
  }
  return 0;
}

}  // namespace

std::int64_t peak_memory_bytes() {
  constexpr std::int64_t kKibibyte = 1024;
  return number_after("/proc/self/status", "VmHWM:") * kKibibyte;
}

PageIns page_ins() {
  rusage usage{};
  PageIns counted;
  if (getrusage(RUSAGE_SELF, &usage) == 0) counted.faults = usage.ru_majflt;
  counted.bytes = number_after("/proc/self/io", "read_bytes:");
  return counted;
}

}  // namespace sightline::generate
