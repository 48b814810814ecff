// The pool. One 64-bit word holds the number of the job and the next block; a worker takes a block
// by exchanging that word, which also proves that the job it read is still the one that runs. The
// caller waits for the blocks that were taken, never for workers that slept through the job.
#include "base/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "sightline/error.hpp"

namespace sightline {
namespace {

/// Longest time to spin before sleeping: a few times the cost of a wake-up.
constexpr std::chrono::microseconds kSpin{50};
constexpr std::int64_t kMostBlocks = std::int64_t{1}
                                     << 31;  // in one job; the lower half of the word

constexpr std::uint32_t job_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t block_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Waits until `word` differs from `old`: spins for kSpin at most if `spin`, then sleeps.
void wait_change(const std::atomic<std::uint32_t>& word, std::uint32_t old, bool spin) {
  if (spin) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do {
      for (int i = 0; i < 64; ++i) {
        if (word.load(std::memory_order_acquire) != old) return;
        pause();
      }
    } while (std::chrono::steady_clock::now() < end);
  }
  word.wait(old, std::memory_order_acquire);
}

}  // namespace

struct Threads::Impl {
  int count = 1;
  bool spin = false;
  std::atomic<std::uint64_t> head{0};  ///< job number and next block
  std::atomic<const BlockFn*> fn{nullptr};
  std::atomic<std::uint32_t> blocks{0};
  alignas(64) std::atomic<std::uint32_t> done{0};  ///< finished blocks of this job
  alignas(64) std::atomic<std::uint32_t> job{0};   ///< what sleeping workers watch
  std::atomic<bool> stop{false};
  std::vector<std::jthread> workers;

  /// Tells the workers to end; they are joined as members.
  ~Impl() {
    stop.store(true, std::memory_order_release);
    job.fetch_add(1, std::memory_order_acq_rel);
    job.notify_all();
  }

  /// Starts workers 1 to count - 1.
  void start() {
    workers.reserve(static_cast<std::size_t>(count - 1));
    try {
      for (int worker = 1; worker < count; ++worker) {
        workers.emplace_back([this, worker] { sleep_and_work(worker); });
      }
    } catch (const std::system_error& error) {
      throw Error(Code::thread_limit,
                  fmt::format("threads: expected {}, the system starts only {} ({}); ask for fewer "
                              "(--threads)",
                              count, workers.size() + 1, error.code().message()),
                  {{"option", "threads"}});
    }
  }

  /// Takes and runs blocks of the current job until there are none.
  void work(int worker) noexcept {
    std::uint64_t seen = head.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t total = blocks.load(std::memory_order_acquire);
      const BlockFn* call = fn.load(std::memory_order_acquire);
      if (block_of(seen) >= total) return;
      // Success means that block was free, so its job was unfinished and `total` and `call` belong
      // to it.
      if (!head.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        continue;
      }
      (*call)(block_of(seen), worker);
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == total) done.notify_all();
      seen = head.load(std::memory_order_acquire);
    }
  }

  void sleep_and_work(int worker) noexcept {
    std::uint32_t last = 0;
    for (;;) {
      wait_change(job, last, spin);
      // In this order: who sees the number that ~Impl() sets also sees `stop`.
      last = job.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      work(worker);
    }
  }

  void run(std::int64_t total, const BlockFn& call) noexcept {
    // Close the old job before its fields change: no block number is below zero blocks.
    blocks.store(0, std::memory_order_release);
    const std::uint32_t number = job_of(head.load(std::memory_order_relaxed)) + 1;
    head.store(static_cast<std::uint64_t>(number) << 32, std::memory_order_release);
    done.store(0, std::memory_order_relaxed);
    fn.store(&call, std::memory_order_release);
    blocks.store(static_cast<std::uint32_t>(total), std::memory_order_release);
    job.store(number, std::memory_order_release);
    job.notify_all();
    work(0);
    for (std::uint32_t seen = done.load(std::memory_order_acquire); seen != total;
         seen = done.load(std::memory_order_acquire)) {
      wait_change(done, seen, spin);
    }
  }
};

Threads::Threads(int count) : impl_(std::make_unique<Impl>()) {
  impl_->count = std::max(count, 1);
  const ThreadBudget budget = available_threads();
  impl_->spin = !budget.quota && impl_->count <= budget.count;
  impl_->start();
}

Threads::~Threads() = default;

int Threads::count() const noexcept { return impl_->count; }

void Threads::for_blocks(std::int64_t blocks, BlockFn fn) noexcept {
  if (impl_->count == 1 || blocks <= 1) {
    for (std::int64_t block = 0; block < blocks; ++block) fn(block, 0);
    return;
  }
  for (std::int64_t first = 0; first < blocks; first += kMostBlocks) {
    const auto shifted = [&](std::int64_t block, int worker) { fn(first + block, worker); };
    impl_->run(std::min(kMostBlocks, blocks - first), BlockFn(shifted));
  }
}

}  // namespace sightline
