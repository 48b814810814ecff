// What every kernel needs besides its operands: the kernel table, the pool, scratch memory, the
// cancel flag; and the tally, in which kernels count the work that they do.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "kernels/kernels.hpp"

namespace sightline::kernels {

/// Arithmetic and memory traffic of kernels. A multiplication with its addition is two operations;
/// activations count each operand once when it is read and once when it is written, float32.
struct Work {
  std::int64_t flops = 0, weight_bytes = 0, activation_bytes = 0;

  friend Work operator-(const Work& a, const Work& b) {
    return {a.flops - b.flops, a.weight_bytes - b.weight_bytes,
            a.activation_bytes - b.activation_bytes};
  }
  friend Work operator+(const Work& a, const Work& b) {
    return {a.flops + b.flops, a.weight_bytes + b.weight_bytes,
            a.activation_bytes + b.activation_bytes};
  }
};

/// Counts what kernels do. With `only`, they count instead of computing: no operand is read or
/// written, so that a model of any size can be walked without its weights.
struct Tally {
  Work work;
  bool only = false;
};

/// `f32` never rounds an activation; `bf16` may round the key/value cache and, where the kernel set
/// multiplies bfloat16, the left operand of products with weights stored as bfloat16 and the
/// operands of attention's products.
enum class Precision : std::uint8_t { f32, bf16 };

/// Borrowed for the duration of one run. One thread drives it.
struct Compute {
  const Kernels& kernels;
  Threads& threads;
  Arena& arena;
  const std::atomic<bool>* cancel = nullptr;
  Tally* tally = nullptr;
  Precision precision = Precision::f32;

  [[nodiscard]] bool cancelled() const noexcept {
    return cancel != nullptr && cancel->load(std::memory_order_relaxed);
  }
  /// True if nothing is to be computed.
  [[nodiscard]] bool counts_only() const noexcept { return tally != nullptr && tally->only; }
  /// Adds work; true if that is all there is to do. The first line of every kernel.
  [[nodiscard]] bool count(const Work& work) const noexcept {
    if (tally == nullptr) return false;
    tally->work = tally->work + work;
    return tally->only;
  }
};

}  // namespace sightline::kernels
