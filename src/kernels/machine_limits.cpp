// The two loops, each the best of several rounds: load and interruptions only ever take away.
#include "kernels/machine_limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr std::int64_t kPieces = 64;  // taken by threads as they become free
constexpr std::int64_t kMultiplyAdds = 200'000;
constexpr std::int64_t kMemory = std::int64_t{256} << 20;  // far beyond the last-level cache
constexpr std::int64_t kWords = kMemory / static_cast<std::int64_t>(sizeof(std::uint64_t));

template <class Work>
double best_rate(double amount, const Work& work) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Clock::time_point start = Clock::now();
    work();
    best = std::max(best, amount / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

std::uint64_t sum_of(const std::uint64_t* words, std::int64_t count) noexcept {
  std::uint64_t sums[8] = {};
  for (std::int64_t i = 0; i < count; i += 8) {
    for (std::int64_t s = 0; s < 8; ++s) sums[s] += words[i + s];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums) all += sum;
  return all;
}

}  // namespace

MachineLimits measure_limits(const Compute& compute) {
  MachineLimits limits;
  const double operations = compute.kernels.multiply_adds(1);
  limits.flops = best_rate(operations * static_cast<double>(kPieces * kMultiplyAdds), [&] {
    compute.threads.for_blocks(
        kPieces, [&](std::int64_t, int) { (void)compute.kernels.multiply_adds(kMultiplyAdds); });
  });
  const std::vector<std::uint64_t> memory(static_cast<std::size_t>(kWords), 1);
  std::atomic<std::uint64_t> seen{0};  // used, so that the reads are not left out
  limits.read_bytes = best_rate(static_cast<double>(kMemory), [&] {
    compute.threads.for_blocks(kPieces, [&](std::int64_t piece, int) {
      seen += sum_of(memory.data() + piece * (kWords / kPieces), kWords / kPieces);
    });
  });
  return limits;
}

}  // namespace sightline::kernels
