// The size rules, step by step as numbered in the specification (sections 2.2 and 3.2).
#include "image/sizes.hpp"

#include <cmath>

namespace sightline::image {
namespace {

constexpr std::int64_t kMaxSide = std::int64_t{1} << 31;  // keeps every product below 2^63
constexpr std::int64_t kMaxFrames = std::int64_t{1}
                                    << 20;  // 2^20 * rounded sides stays exact in double

// Pixels per frame under cap_pixels_per_frame. HF: Qwen3VLVideoProcessor.
constexpr std::int64_t kFrameCap = std::int64_t{768} * 32 * 32;
constexpr double kFrameFloorFactor = 1.05;

struct Sides {
  double height, width;
};

double as_double(std::int64_t value) noexcept { return static_cast<double>(value); }

double at_least(double value, double minimum) noexcept { return value < minimum ? minimum : value; }

bool valid(const SizeRule& rule) noexcept {
  return rule.factor >= 1 && rule.factor < kMaxSide && rule.min_pixels >= 0 && rule.max_pixels >= 1;
}

bool valid_side(std::int64_t side) noexcept { return side >= 1 && side < kMaxSide; }

double aspect_ratio(const Sides& s) noexcept {
  return s.height > s.width ? s.height / s.width : s.width / s.height;
}

Sides rounded(const Sides& s, double factor) noexcept {
  return {round_half_even(s.height / factor) * factor, round_half_even(s.width / factor) * factor};
}

Sides shrunk(const Sides& s, double beta, double factor) noexcept {
  return {at_least(std::floor(s.height / beta / factor) * factor, factor),
          at_least(std::floor(s.width / beta / factor) * factor, factor)};
}

Sides grown(const Sides& s, double beta, double factor) noexcept {
  return {std::ceil(s.height * beta / factor) * factor,
          std::ceil(s.width * beta / factor) * factor};
}

TargetSize result(const Sides& s) noexcept {
  return {SizeStatus::ok, static_cast<std::int64_t>(s.height), static_cast<std::int64_t>(s.width)};
}

std::int64_t clip_limit(std::int64_t frames, const ClipRule& rule) noexcept {
  if (!rule.cap_pixels_per_frame) return rule.size.max_pixels;
  std::int64_t per_frame = rule.size.max_pixels / frames;
  if (per_frame > kFrameCap) per_frame = kFrameCap;
  const auto floor = static_cast<std::int64_t>(kFrameFloorFactor * as_double(rule.size.min_pixels));
  return (per_frame < floor ? floor : per_frame) * frames;
}

}  // namespace

double round_half_even(double value) noexcept {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

TargetSize image_target_size(std::int64_t height, std::int64_t width,
                             const SizeRule& rule) noexcept {
  if (!valid(rule)) return {SizeStatus::bad_rule};
  if (!valid_side(height) || !valid_side(width)) return {SizeStatus::bad_size};
  const Sides sides{as_double(height), as_double(width)};
  if (aspect_ratio(sides) > kMaxAspectRatio) return {SizeStatus::aspect_ratio};
  const double factor = as_double(rule.factor);
  const double pixels = as_double(height * width);
  const Sides target = rounded(sides, factor);
  if (target.height * target.width > as_double(rule.max_pixels)) {
    return result(shrunk(sides, std::sqrt(pixels / as_double(rule.max_pixels)), factor));
  }
  if (target.height * target.width < as_double(rule.min_pixels)) {
    return result(grown(sides, std::sqrt(as_double(rule.min_pixels) / pixels), factor));
  }
  return result(target);
}

TargetSize video_target_size(std::int64_t frames, std::int64_t height, std::int64_t width,
                             const ClipRule& rule) noexcept {
  if (!valid(rule.size) || rule.temporal_patch < 1) return {SizeStatus::bad_rule};
  if (!valid_side(height) || !valid_side(width) || frames > kMaxFrames)
    return {SizeStatus::bad_size};
  if (frames < rule.temporal_patch) return {SizeStatus::too_few_frames};
  const double factor = as_double(rule.size.factor);
  Sides sides{as_double(height), as_double(width)};
  if (sides.height < factor || sides.width < factor) {
    const double by_height = factor / sides.height, by_width = factor / sides.width;
    const double scale = by_height > by_width ? by_height : by_width;
    sides = {std::floor(sides.height * scale), std::floor(sides.width * scale)};
  }
  if (aspect_ratio(sides) > kMaxAspectRatio) return {SizeStatus::aspect_ratio};
  const Sides target = rounded(sides, factor);
  const double temporal = as_double(rule.temporal_patch);
  const double count = as_double(frames);
  const double volume = round_half_even(count / temporal) * temporal * target.height * target.width;
  const double limit = as_double(clip_limit(frames, rule));
  const double pixels = count * sides.height * sides.width;
  if (volume > limit) return result(shrunk(sides, std::sqrt(pixels / limit), factor));
  if (volume < as_double(rule.size.min_pixels)) {
    return result(grown(sides, std::sqrt(as_double(rule.size.min_pixels) / pixels), factor));
  }
  return result(target);
}

Grid grid_of(std::int64_t frames, const TargetSize& size, std::int64_t patch,
             std::int64_t temporal_patch) noexcept {
  return {(frames + temporal_patch - 1) / temporal_patch, size.height / patch, size.width / patch};
}

}  // namespace sightline::image
