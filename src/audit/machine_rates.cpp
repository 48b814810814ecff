// The two measurements (machine_rates.hpp).
#include "audit/machine_rates.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "kernels/compute.hpp"
#include "kernels/matmul.hpp"

namespace sightline::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 0.3;  // of one measurement, at least one product
// A layer's width, rows like a piece of a prompt; and weights beyond any cache (128 MiB).
constexpr std::int64_t kWidth = 2048, kRows = 256, kPanelOuts = 2048, kStreamOuts = 32768;
constexpr std::uint16_t kOneHalf = 0x3F00;  // 0.5 as bf16: no denormal numbers, no overflow

class Bench {
 public:
  Bench(int threads, const std::string& isa)
      : threads_(threads),
        compute_{kernels::select(isa), threads_, arena_},
        weights_(static_cast<std::size_t>(kStreamOuts * kWidth), kOneHalf) {}

  /// Seconds of one product of `rows` rows with `outs` rows of weights.
  double product(std::int64_t rows, std::int64_t outs) {
    const ArenaScope scope(arena_);
    const View x = arena_.matrix(rows, kWidth), y = arena_.matrix(rows, outs);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < kWidth; ++c) x.row(r)[c] = 0.5F;
    }
    const Weight weight{DType::bf16, outs, kWidth,
                        reinterpret_cast<const std::byte*>(weights_.data())};
    std::int64_t times = 0;
    double seconds = 0;
    const Clock::time_point start = Clock::now();
    while (seconds < kSeconds) {
      kernels::matmul(compute_, x, weight, nullptr, y);
      ++times;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return seconds / static_cast<double>(times);
  }

  [[nodiscard]] std::string_view name() const { return kernels::name_of(compute_.kernels); }

 private:
  Threads threads_;
  Arena arena_;
  kernels::Compute compute_;
  std::vector<std::uint16_t> weights_;
};

}  // namespace

MachineRates measure_rates(int threads, const std::string& isa) {
  MachineRates rates;
  rates.threads = threads > 0 ? threads : available_threads().count;
  Bench bench(rates.threads, isa);
  rates.kernel_set = bench.name();
  rates.flops =
      2.0 * static_cast<double>(kRows * kWidth * kPanelOuts) / bench.product(kRows, kPanelOuts);
  rates.weight_bytes = static_cast<double>(kStreamOuts * kWidth * dtype_size(DType::bf16)) /
                       bench.product(1, kStreamOuts);
  return rates;
}

}  // namespace sightline::audit
