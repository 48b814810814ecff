// Arena: scratch memory of one run. Allocation bumps a pointer, release goes back to a mark; chunks
// are kept and reused. 64-byte aligned. Not thread-safe: only the thread that drives a run
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mat.hpp"

namespace sightline {

class Arena {
 public:
  struct Mark {
    std::size_t chunk = 0, used = 0;
  };
  static constexpr std::size_t kAlignment = 64;  ///< one cache line, one AVX-512 register

  /// `memory` is for use; `addresses` only reserves them (kernels then count instead of computing).
  enum class Kind : bool { memory, addresses };

  explicit Arena(Kind kind = Kind::memory);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Uninitialised memory, aligned to kAlignment, valid until release() of an earlier mark. Throws
  /// Error(memory_limit) when the system has no memory.
  void* allocate(std::size_t bytes);

  /// A matrix of floats (uninitialised), rows x cols, dense.
  View matrix(std::int64_t rows, std::int64_t cols);

  template <class T>
  T* array(std::int64_t count) {
    return static_cast<T*>(allocate(static_cast<std::size_t>(count) * sizeof(T)));
  }

  [[nodiscard]] Mark mark() const noexcept;
  void release(Mark mark) noexcept;

  [[nodiscard]] std::size_t peak_bytes() const noexcept;  ///< most that was in use at once

 private:
  struct Chunk;
  static Chunk new_chunk(Kind kind, std::size_t size);

  Kind kind_;
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0, peak_ = 0;
};

/// Gives the memory allocated during its life back when it ends.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace sightline
