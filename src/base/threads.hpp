// The thread pool: a fixed number of workers to which blocks of work are handed out as they become
// free. One run at a time uses a pool (the caller is worker 0). Results must not depend on which
// worker does what.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace sightline {

/// A non-owning reference to a callable (block, worker); valid while the callable lives.
class BlockFn {
 public:
  template <class F>
  BlockFn(const F& f)  // NOLINT(google-explicit-constructor): parameters take lambdas
      : object_(&f), call_([](const void* object, std::int64_t block, int worker) noexcept {
          (*static_cast<const F*>(object))(block, worker);
        }) {}
  void operator()(std::int64_t block, int worker) const noexcept { call_(object_, block, worker); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, int) noexcept;
};

class Threads {
 public:
  /// Starts `count` - 1 threads (count >= 1; the calling thread is the other worker). Throws
  /// Error(thread_limit) if the system has no more.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  [[nodiscard]] int count() const noexcept;

  /// Calls fn(block, worker) once for every block in [0, blocks), in any order, on any worker;
  /// returns when all are done. `worker` is in [0, count()). fn must not throw. Blocks are taken
  /// one by one as workers become free.
  void for_blocks(std::int64_t blocks, BlockFn fn) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How many threads this process may really use, and why.
struct ThreadBudget {
  int count = 1;
  const char* reason = "";  ///< "affinity mask", "cgroup v2 cpu.max", …
  bool quota = false;       ///< less CPU time than CPUs: waiting threads should sleep, not spin
};

/// From the affinity mask and the cgroup CPU quota (v1 and v2), at least 1.
ThreadBudget available_threads();

/// The same with the affinity mask given as a number of CPUs, and /proc and /sys looked up below
/// `root` ("" is the real one): a test lays out the files that it wants.
ThreadBudget available_threads(int affinity_cpus, const std::string& root);

}  // namespace sightline
