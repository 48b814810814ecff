// Counts of frames, evenly spread indices, time stamps (sampling.hpp).
#include "calc/sampling.hpp"

#include <cmath>

#include "calc/sizes.hpp"

namespace sightline::calc {
namespace {

constexpr std::int64_t kGemmaFrames = 32;  // HF: Gemma4VideoProcessor.num_frames

Problem both_given() noexcept {
  Problem problem{ErrorCode::both_given, "fps"};
  problem.message.add(
      "`num_frames` and `fps` are mutually exclusive arguments, please use only one!");
  return problem;
}

Problem check(const SamplingRequest& request) noexcept {
  if (request.fps && request.num_frames) return both_given();
  Problem problem = check_range("total_frames", request.total_frames, 1, kMaxTotalFrames);
  if (problem.ok() && request.native_fps)
    problem = check_range("native_fps", *request.native_fps, kMinRate, kMaxRate);
  if (problem.ok() && request.fps) problem = check_range("fps", *request.fps, kMinRate, kMaxRate);
  if (problem.ok() && request.num_frames)
    problem = check_range("num_frames", *request.num_frames, 1, kMaxFrames);
  return problem;
}

std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }

/// Frames for a rate: cut to a whole number, then held to the limits.
std::int64_t frames_for(double fps, const Sampling& clip, const SamplingRule& rule) noexcept {
  const std::int64_t most = smaller(rule.max_frames, clip.total);
  const double wanted = static_cast<double>(clip.total) / clip.rate * fps;
  if (wanted >= static_cast<double>(most)) return most;
  const auto whole = static_cast<std::int64_t>(wanted);
  return smaller(whole < rule.min_frames ? rule.min_frames : whole, most);
}

}  // namespace

std::int64_t Sampling::index(std::int64_t k) const noexcept {
  if (!both_ends) return k * total / count;
  if (k == count - 1) return count == 1 ? 0 : total - 1;
  const double step = static_cast<double>(total - 1) / static_cast<double>(count - 1);
  return static_cast<std::int64_t>(round_half_even(static_cast<double>(k) * step));
}

std::int64_t Sampling::groups() const noexcept {
  return (count + temporal_patch - 1) / temporal_patch;
}

double Sampling::seconds(std::int64_t group) const noexcept {
  const std::int64_t first = group * temporal_patch;
  const std::int64_t last = smaller(first + temporal_patch, count) - 1;
  return group_seconds(index(first), index(last), rate);
}

Sampling sample_qwen(const SamplingRequest& request, const SamplingRule& rule) noexcept {
  Sampling sampling{check(request)};
  if (!sampling.problem.ok()) return sampling;
  sampling.total = request.total_frames;
  sampling.rate = request.native_fps.value_or(kUnknownRate);
  sampling.temporal_patch = rule.temporal_patch;
  sampling.both_ends = true;
  sampling.count = request.num_frames ? *request.num_frames
                                      : frames_for(request.fps.value_or(rule.fps), sampling, rule);
  return sampling;
}

Sampling sample_gemma(const SamplingRequest& request) noexcept {
  Sampling sampling{check(request)};
  if (!sampling.problem.ok()) return sampling;
  sampling.total = request.total_frames;
  sampling.rate = request.native_fps.value_or(kUnknownRate);
  sampling.count = request.num_frames.value_or(kGemmaFrames);
  if (sampling.count <= sampling.total) return sampling;
  Problem& problem = sampling.problem;
  problem.code = ErrorCode::too_many_frames;
  problem.input = "num_frames";
  problem.found = static_cast<double>(sampling.count);
  problem.low = 1;
  problem.high = static_cast<double>(sampling.total);
  problem.message.add("When loading the video with num_frames=").add(sampling.count);
  problem.message.add(", the requested number of frames exceeds total_num_frames=");
  problem.message.add(sampling.total);
  problem.message.add(". Please set num_frames or fps to a smaller value.");
  return sampling;
}

double group_seconds(std::int64_t first, std::int64_t last, double rate) noexcept {
  return (static_cast<double>(first) / rate + static_cast<double>(last) / rate) / 2;
}

Text seconds_text(double seconds) noexcept { return Text().add_one_decimal(seconds); }

Text seconds_stamp(double seconds) noexcept {
  return Text("<").add_one_decimal(seconds).add(" seconds>");
}

Text clock_text(double seconds) noexcept {
  constexpr std::int64_t kMinute = 60;
  const auto whole = static_cast<std::int64_t>(std::floor(seconds));
  return Text().add_two_digits(whole / kMinute).add(":").add_two_digits(whole % kMinute);
}

}  // namespace sightline::calc
