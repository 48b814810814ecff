// Ctrl-C: the first one asks for an end, the second one kills. One scope at a time in a process.
#pragma once

#include <functional>
#include <thread>

namespace sightline::cli {

/// While it lives, the first SIGINT (or SIGTERM, or SIGHUP of a terminal that is closed, unless
/// that is ignored as under nohup) sets a flag and calls `on_interrupt` from a thread of its own
/// (so it may do anything, e.g. Session::cancel()); the second one ends the process by the signal,
/// as without this class.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> on_interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// A signal has come.
  [[nodiscard]] bool interrupted() const noexcept;
  /// Forgets a signal, and waits for the next first one.
  void clear() noexcept;

 private:
  std::function<void()> on_interrupt_;
  std::thread watcher_;
};

}  // namespace sightline::cli
