// What every kernel needs besides its operands: the kernel table, the pool, scratch memory, the
// cancel flag.
#pragma once

#include <atomic>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "kernels/kernels.hpp"

namespace sightline::kernels {

/// Borrowed for the duration of one run. One thread drives it.
struct Compute {
  const Kernels& kernels;
  Threads& threads;
  Arena& arena;
  const std::atomic<bool>* cancel = nullptr;

  [[nodiscard]] bool cancelled() const noexcept {
    return cancel != nullptr && cancel->load(std::memory_order_relaxed);
  }
};

}  // namespace sightline::kernels
