// Which frames of a clip are looked at, and the times written into the prompt. Indices are computed
// one by one, so that a long clip needs no list.
#pragma once

#include <cstdint>
#include <optional>

#include "calc/models.hpp"
#include "calc/problem.hpp"

namespace sightline::calc {

/// What is taken for a rate that the container does not say. HF: both processors.
inline constexpr double kUnknownRate = 24;

/// How many frames the processor takes when nothing is asked, and its limits. The defaults are the
/// published ones of Qwen (HF: Qwen3VLVideoProcessor).
struct SamplingRule {
  double fps = 2;
  std::int64_t min_frames = 4, max_frames = 768;
  std::int64_t temporal_patch = kQwenTemporal;
};

struct SamplingRequest {
  std::int64_t total_frames = 0;           ///< of the clip, 1 to kMaxTotalFrames
  std::optional<double> native_fps;        ///< of the clip; unknown: kUnknownRate
  std::optional<double> fps;               ///< frames wanted per second of the clip; or
  std::optional<std::int64_t> num_frames;  ///< frames wanted
};

// Bounds of the inputs; they keep every time below 2^53 seconds.
inline constexpr std::int64_t kMaxTotalFrames = 1'000'000'000;
inline constexpr std::int64_t kMaxFrames = 100'000;
inline constexpr double kMinRate = 1e-6, kMaxRate = 1e6;

/// The frames chosen. Groups are what gets one time stamp: a temporal patch (Qwen; the last index
/// is repeated to fill it) or a frame (Gemma).
struct Sampling {
  Problem problem;
  std::int64_t total = 0, count = 0;
  double rate = kUnknownRate;
  std::int64_t temporal_patch = 1;
  bool both_ends = false;  ///< spread from the first to the last frame, rounded; else floor(k*N/n)

  /// The k-th frame chosen, 0 <= k < count.
  [[nodiscard]] std::int64_t index(std::int64_t k) const noexcept;
  [[nodiscard]] std::int64_t groups() const noexcept;
  /// Time of a group in seconds: the middle of its first and last frame.
  [[nodiscard]] double seconds(std::int64_t group) const noexcept;
};

/// Qwen3.5 and Qwen3-VL. HF: Qwen3VLVideoProcessor.sample_frames; specification section 3.1.
/// num_frames is taken as it is, beyond the length too (frames repeat); fps is held to the rule's
/// limits. Problems: both_given, out_of_range.
Sampling sample_qwen(const SamplingRequest& request, const SamplingRule& rule = {}) noexcept;

/// Gemma 4: num_frames, else 32; fps alone changes nothing, because the class's number wins. HF:
/// BaseVideoProcessor.sample_frames. Problems: as above, too_many_frames.
Sampling sample_gemma(const SamplingRequest& request) noexcept;

/// Time of frames `first` to `last` of one group: the middle of their times. HF:
/// Qwen3VLProcessor._calculate_timestamps; specification section 3.3.
double group_seconds(std::int64_t first, std::int64_t last, double rate) noexcept;

/// "0.2": a time as Qwen's prompt writes it.
Text seconds_text(double seconds) noexcept;
/// "<0.2 seconds>": what stands before a group in Qwen's prompt.
Text seconds_stamp(double seconds) noexcept;
/// "01:05": minutes and seconds, cut, as Gemma's prompt writes them.
Text clock_text(double seconds) noexcept;

}  // namespace sightline::calc
