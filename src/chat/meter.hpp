// The limits of one rendering: steps (time), bytes alive (memory), nesting depth. A template comes
// with a checkpoint and is not trusted; beyond a limit it ends with Error(template_limit). One
// Meter belongs to one rendering and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "sightline/error.hpp"

namespace sightline::chat {

inline constexpr std::size_t kMaxTemplateBytes = 1U << 20U;  ///< source of a template
inline constexpr std::size_t kMaxSyntaxDepth =
    160;  ///< nesting of expressions and blocks in the source
inline constexpr std::uint64_t kMaxSteps = 10'000'000;  ///< nodes evaluated, plus work by size
inline constexpr std::size_t kMaxLiveBytes = std::size_t{256}
                                             << 20U;  ///< all values of one rendering
inline constexpr std::size_t kMaxTextBytes = std::size_t{32}
                                             << 20U;  ///< one string; also the result
inline constexpr std::size_t kMaxDepth = 600;         ///< nested evaluations, macro calls included
inline constexpr std::size_t kMaxValueDepth = 200;  ///< lists within lists (JSON is limited to 128)
inline constexpr std::size_t kMaxRange = 100'000;   ///< as in jinja2's sandbox

class Meter;

/// Bytes accounted to a meter for as long as this object lives.
class Charge {
 public:
  Charge() = default;
  explicit Charge(Meter& meter) : meter_(&meter) {}
  Charge(Charge&& other) noexcept
      : meter_(std::exchange(other.meter_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(meter_, other.meter_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge();
  /// Throws Error(template_limit) when the meter's memory limit is passed.
  void grow(std::size_t bytes);

 private:
  Meter* meter_ = nullptr;
  std::size_t bytes_ = 0;
};

class Meter {
 public:
  /// Counts work; `bytes` of copied or compared data count a step for each 64.
  void step(std::size_t steps = 1) {
    steps_ += steps;
    if (steps_ > kMaxSteps) fail("takes more than " + std::to_string(kMaxSteps) + " steps");
  }
  void step_bytes(std::size_t bytes) { step(1 + bytes / 64); }

  [[nodiscard]] Charge hold(std::size_t bytes) {
    Charge charge(*this);
    charge.grow(bytes);
    return charge;
  }
  /// One string must not be longer than kMaxTextBytes.
  static void check_text(std::size_t bytes) {
    if (bytes > kMaxTextBytes)
      fail("makes a text longer than " + std::to_string(kMaxTextBytes >> 20U) + " MiB");
  }

  [[noreturn]] static void fail(const std::string& what) {
    throw Error(Code::template_limit, "the chat template " + what, {{"limit", what}});
  }

  std::size_t depth = 0;

 private:
  friend class Charge;
  std::uint64_t steps_ = 0;
  std::size_t live_ = 0;
};

inline Charge::~Charge() {
  if (meter_ != nullptr) meter_->live_ -= bytes_;
}

inline void Charge::grow(std::size_t bytes) {
  if (bytes > kMaxLiveBytes - meter_->live_) {
    Meter::fail("needs more than " + std::to_string(kMaxLiveBytes >> 20U) + " MiB");
  }
  meter_->live_ += bytes;
  bytes_ += bytes;
}

/// Counts one level of nesting while it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Meter& meter) : meter_(meter) {
    if (meter_.depth >= kMaxDepth)
      Meter::fail("nests deeper than " + std::to_string(kMaxDepth) + " levels");
    ++meter_.depth;
  }
  ~DepthGuard() { --meter_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Meter& meter_;
};

}  // namespace sightline::chat
