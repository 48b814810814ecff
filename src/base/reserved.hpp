// Address space without memory: what a walk that only counts hands out in place of weights and
// scratch. Linux; includes nothing of sightline but the error type.
#pragma once

#include <cstddef>

namespace sightline {

/// `bytes` of addresses, given back at the end. With `zeros` they read as zero bytes (one page of
/// the system is shown everywhere); without, any access faults: proof that nobody touches them.
class ReservedMemory {
 public:
  enum class Kind : bool { untouchable, zeros };

  /// Throws Error(memory_limit) when the system has no such range.
  ReservedMemory(std::size_t bytes, Kind kind);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace sightline
