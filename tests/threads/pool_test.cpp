// Protects: the thread pool starts and stops without losing a worker, runs every block once, makes
// what the workers wrote visible to the caller, and survives what happens around it (exceptions of
// its owner, a system without threads). The thread sanitizer watches: the data is not atomic.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/threads.hpp"
#include "sightline/error.hpp"

namespace sightline {
namespace {

TEST(ThreadPool, StartsAndStopsWithAndWithoutWork) {
  for (int round = 0; round < 20; ++round) {
    for (int count = 1; count <= 4; ++count) {
      Threads idle(count);
      EXPECT_EQ(idle.count(), count);
      Threads busy(count);
      std::vector<int> seen(7, 0);
      busy.for_blocks(7, [&](std::int64_t block, int) { ++seen[static_cast<std::size_t>(block)]; });
      EXPECT_EQ(seen, std::vector<int>(7, 1));
    }
  }
}

TEST(ThreadPool, EveryBlockRunsOnceOnAWorkerOfThePool) {
  Threads pool(3);
  for (const std::int64_t blocks : {0, 1, 2, 3, 1000}) {
    std::vector<int> workers(static_cast<std::size_t>(blocks), -1);
    pool.for_blocks(blocks, [&](std::int64_t block, int worker) {
      EXPECT_EQ(workers[static_cast<std::size_t>(block)], -1);
      workers[static_cast<std::size_t>(block)] = worker;
    });
    for (const int worker : workers) EXPECT_TRUE(worker >= 0 && worker < 3) << worker;
  }
}

// Jobs shorter than a wake-up: workers come late, to a job that is over or to the next one.
TEST(ThreadPool, ShortJobsInARow) {
  Threads pool(4);
  std::vector<std::int64_t> sums(5, 0);
  for (std::int64_t job = 0; job < 3000; ++job) {
    const std::int64_t blocks = 1 + job % 5;
    pool.for_blocks(blocks, [&, job](std::int64_t block, int) {
      sums[static_cast<std::size_t>(block)] += job;
    });
  }
  std::vector<std::int64_t> expected(5, 0);
  for (std::int64_t job = 0; job < 3000; ++job) {
    for (std::int64_t block = 0; block <= job % 5; ++block)
      expected[static_cast<std::size_t>(block)] += job;
  }
  EXPECT_EQ(sums, expected);
}

// What one job wrote is read by the next, by whichever worker takes the block.
TEST(ThreadPool, AJobSeesWhatTheOneBeforeWrote) {
  Threads pool(3);
  std::vector<std::int64_t> from(64), to(64);
  std::iota(from.begin(), from.end(), 0);
  for (int job = 0; job < 200; ++job) {
    pool.for_blocks(64, [&](std::int64_t block, int) {
      to[static_cast<std::size_t>(block)] = from[static_cast<std::size_t>((block + 1) % 64)];
    });
    std::swap(from, to);
  }
  for (std::int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(from[static_cast<std::size_t>(i)], (i + 200) % 64);
}

// A pool inside the blocks of another: each run has a pool of its own, none waits for the other.
TEST(ThreadPool, AnotherPoolInsideABlock) {
  Threads outer(2);
  std::vector<std::vector<int>> seen(6, std::vector<int>(9, 0));
  outer.for_blocks(6, [&](std::int64_t row, int) {
    Threads inner(2);
    inner.for_blocks(9, [&](std::int64_t column, int) {
      ++seen[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
    });
  });
  EXPECT_EQ(seen, std::vector<std::vector<int>>(6, std::vector<int>(9, 1)));
}

// Threads of the program take turns with one pool, as sessions of one engine do.
TEST(ThreadPool, DifferentCallersInTurn) {
  Threads pool(2);
  std::mutex turn;
  std::vector<int> counts(8, 0);
  const auto caller = [&] {
    for (int i = 0; i < 100; ++i) {
      const std::lock_guard lock(turn);
      pool.for_blocks(8,
                      [&](std::int64_t block, int) { ++counts[static_cast<std::size_t>(block)]; });
    }
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(counts, std::vector<int>(8, 200));
}

TEST(ThreadPool, IsStoppedByAnExceptionOfItsOwner) {
  EXPECT_THROW(
      {
        Threads pool(3);
        pool.for_blocks(5, [](std::int64_t, int) {});
        throw std::runtime_error("between two jobs");
      },
      std::runtime_error);
}

// A block that throws ends the program at once: there is no half-done job to go on from, and
// waiting for it would never end.
TEST(ThreadPool, ABlockThatThrowsEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Threads pool(2);
        pool.for_blocks(8, [](std::int64_t, int) { throw std::runtime_error("inside a block"); });
      },
      "");
}

// A process that may have only three threads asks for sixteen: an error, not an endless wait for
// those that were started.
TEST(ThreadPool, ASystemWithoutThreadsIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(1);
    const rlimit limit{3, 3};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(1);
    try {
      Threads pool(16);
    } catch (const Error& error) {
      _exit(error.code() == Code::thread_limit ? 0 : 2);
    }
    _exit(3);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sightline
