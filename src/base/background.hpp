// One computation on a thread of its own, beside what the caller does meanwhile. Its result, or
// what it threw, is taken once by the caller; the destructor waits. Needs no pool.
#pragma once

#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "sightline/error.hpp"

namespace sightline {

template <class T>
class Background {
 public:
  /// Starts `compute`, which returns a T. Where the system has no thread left it runs at once. What
  /// it refers to must outlive this object.
  template <class F>
  explicit Background(F compute) {
    try {
      thread_ = std::jthread([this, compute] { run(compute); });
    } catch (const std::system_error&) {
      run(compute);
    }
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Waits for the result; throws what the computation threw. Once.
  T take() {
    if (thread_.joinable()) thread_.join();
    // An Error goes over as a value: nothing of it is shared with the thread that has ended.
    if (error_) throw Error(*error_);
    if (other_) std::rethrow_exception(std::move(other_));
    return std::move(*result_);
  }

 private:
  template <class F>
  void run(const F& compute) noexcept {
    try {
      result_.emplace(compute());
    } catch (const Error& error) {
      error_.emplace(error.code(), error.what(), error.context());
    } catch (...) {
      other_ = std::current_exception();
    }
  }

  std::optional<T> result_;
  std::optional<Error> error_;
  std::exception_ptr other_;
  std::jthread thread_;  // last: it is joined before the rest goes
};

}  // namespace sightline
