// Elapsed time in milliseconds, the peak memory of the process, and what it read from storage.
#pragma once

#include <chrono>
#include <cstdint>

#include "sightline/engine.hpp"

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

/// What the process has paged in so far (getrusage; read_bytes of /proc/self/io).
PageIns page_ins();

}  // namespace sightline::generate
