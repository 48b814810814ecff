// The two loops, each the best of several rounds: load and interruptions only ever take away.
#include "kernels/machine_limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "kernels/table.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr std::int64_t kPieces = 64;      // taken by threads as they become free
constexpr double kPieceSeconds = 0.5e-3;  // at least, of one piece of multiply-adds
constexpr std::int64_t kMemory = std::int64_t{256} << 20;  // far beyond the last-level cache
constexpr std::int64_t kWords = kMemory / static_cast<std::int64_t>(sizeof(std::uint64_t));

template <class Work>
double seconds_of(const Work& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Work>
double best_rate(double amount, const Work& work) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) best = std::max(best, amount / seconds_of(work));
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
  const Kernels& set = compute.kernels;
  limits.tiles = set.tiles != nullptr && compute.precision == Precision::bf16;
  const auto multiply_adds = limits.tiles ? set.tiles->multiply_adds : set.multiply_adds;
  std::int64_t rounds = 1;
  while (seconds_of([&] { (void)multiply_adds(rounds); }) < kPieceSeconds) rounds *= 2;
  limits.flops = best_rate(multiply_adds(1) * static_cast<double>(kPieces * rounds), [&] {
    compute.threads.for_blocks(kPieces, [&](std::int64_t, int) { (void)multiply_adds(rounds); });
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
