// The three measurements (machine_rates.hpp).
#include "audit/machine_rates.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "kernels/compute.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"

namespace sightline::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 0.3;  // of one measurement, at least one product
// Bounds of the sizes: a product worth a panel, memory for 128 MiB of weights.
constexpr std::int64_t kLeastWidth = 64, kMostWidth = 4096, kMostRows = 512;
constexpr std::int64_t kLeastBytes = 1 << 20, kMostBytes = std::int64_t{128} << 20;
constexpr std::uint16_t kOneHalf = 0x3F00;  // 0.5 as bf16: no denormal numbers, no overflow

class Bench {
 public:
  Bench(int threads, const std::string& isa, const RateShape& shape)
      : shape_{std::clamp(shape.width, kLeastWidth, kMostWidth),
               std::clamp(shape.rows, std::int64_t{1}, kMostRows),
               std::clamp(shape.weight_bytes, kLeastBytes, kMostBytes)},
        threads_(threads),
        compute_{kernels::select(isa),    threads_, arena_, nullptr, nullptr,
                 kernels::Precision::bf16},
        weights_(static_cast<std::size_t>(
                     std::max(stream_outs() * shape_.width, shape_.width * shape_.width)),
                 kOneHalf) {}

  /// Operations a second of a square product with many rows.
  double flops() {
    const double count = 2.0 * static_cast<double>(shape_.rows * shape_.width * shape_.width);
    return count / product(shape_.rows, shape_.width);
  }

  /// Bytes of weights a second of a product with one row.
  double weight_bytes() {
    const std::int64_t outs = stream_outs();
    return static_cast<double>(outs * shape_.width * kValueBytes) / product(1, outs);
  }

  /// Bytes a second of a norm and an activation, each operand counted once read or written.
  double activation_bytes() {
    const ArenaScope scope(arena_);
    const View x = filled(shape_.rows, shape_.width), y = arena_.matrix(shape_.rows, shape_.width);
    const std::vector<float> ones(static_cast<std::size_t>(shape_.width), 1.0F);
    constexpr float kEps = 1e-6F;
    const double seconds = repeated([&] {
      kernels::rms_norm(compute_, x, ones.data(), 0, kEps, y);
      kernels::silu_mul(compute_, x, y, y);
    });
    constexpr double kOperands = 5;  // x and y; x, y and y
    return kOperands * static_cast<double>(x.rows * x.cols) * sizeof(float) / seconds;
  }

  [[nodiscard]] std::string_view name() const { return kernels::name_of(compute_.kernels); }

 private:
  static constexpr std::int64_t kValueBytes = 2;  // bf16
  [[nodiscard]] std::int64_t stream_outs() const {
    return shape_.weight_bytes / kValueBytes / shape_.width;
  }

  View filled(std::int64_t rows, std::int64_t cols) {
    const View x = arena_.matrix(rows, cols);
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(x.row(r), cols, 0.5F);
    return x;
  }

  /// Seconds of one run on average, with whatever else the machine has to do.
  template <class F>
  static double repeated(const F& run) {
    const Clock::time_point start = Clock::now();
    std::int64_t times = 0;
    double seconds = 0;
    while (seconds < kSeconds) {
      run();
      ++times;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return seconds / static_cast<double>(times);
  }

  double product(std::int64_t rows, std::int64_t outs) {
    const ArenaScope scope(arena_);
    const View x = filled(rows, shape_.width), y = arena_.matrix(rows, outs);
    const Weight weight{DType::bf16, outs, shape_.width,
                        reinterpret_cast<const std::byte*>(weights_.data())};
    return repeated([&] { kernels::matmul(compute_, x, weight, nullptr, y); });
  }

  RateShape shape_;
  Threads threads_;
  Arena arena_;
  kernels::Compute compute_;
  std::vector<std::uint16_t> weights_;
};

}  // namespace

MachineRates measure_rates(int threads, const std::string& isa, const RateShape& shape) {
  MachineRates rates;
  rates.threads = threads > 0 ? threads : available_threads().count;
  Bench bench(rates.threads, isa, shape);
  rates.kernel_set = bench.name();
  rates.flops = bench.flops();
  rates.weight_bytes = bench.weight_bytes();
  rates.activation_bytes = bench.activation_bytes();
  return rates;
}

}  // namespace sightline::audit
