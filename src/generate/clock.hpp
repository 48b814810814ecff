// Elapsed time in milliseconds, and the peak memory of the process.
#pragma once

#include <chrono>
#include <cstdint>

namespace sightline::generate {

/// Starts when made.
class Stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Peak resident memory of the process in bytes, mapped pages included (VmHWM of
/// /proc/self/status); 0 if unknown.
std::int64_t peak_memory_bytes();

}  // namespace sightline::generate
