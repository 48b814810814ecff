// The size rules, step by step as numbered in the specification (sections 2.2 and 3.2), and
// Gemma's.
#include "calc/sizes.hpp"

#include <cmath>

namespace sightline::calc {
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

TargetSize result(const Sides& s, Branch branch) noexcept {
  return {SizeStatus::ok, static_cast<std::int64_t>(s.height), static_cast<std::int64_t>(s.width),
          branch};
}

Sides enlarged_to(const Sides& s, double factor) noexcept {
  const double by_height = factor / s.height, by_width = factor / s.width;
  const double scale = by_height > by_width ? by_height : by_width;
  return {std::floor(s.height * scale), std::floor(s.width * scale)};
}

TargetSize too_long(double ratio) noexcept {
  TargetSize size{SizeStatus::aspect_ratio};
  size.aspect_ratio = ratio;
  return size;
}

/// Steps 4 and 5 of section 3.2.
TargetSize clip_size(double frames, const Sides& sides, const ClipRule& rule) noexcept {
  const double factor = as_double(rule.size.factor);
  const Sides target = rounded(sides, factor);
  const double temporal = as_double(rule.temporal_patch);
  const double volume =
      round_half_even(frames / temporal) * temporal * target.height * target.width;
  const double limit = as_double(clip_max_pixels(static_cast<std::int64_t>(frames), rule));
  const double least = as_double(rule.size.min_pixels);
  const double pixels = frames * sides.height * sides.width;
  if (volume > limit)
    return result(shrunk(sides, std::sqrt(pixels / limit), factor), Branch::shrunk);
  if (volume < least) return result(grown(sides, std::sqrt(least / pixels), factor), Branch::grown);
  return result(target, Branch::rounded);
}

/// Blocks along the long side when the short one is a single block: whole ratio, within the budget.
double strip_blocks(double longer, double shorter, double budget) noexcept {
  const double ratio = std::floor(longer / shorter);
  return ratio < budget ? ratio : budget;
}

}  // namespace

double round_half_even(double value) noexcept {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::floor(below / 2) * 2 == below ? below : below + 1;
}

TargetSize image_target_size(std::int64_t height, std::int64_t width,
                             const SizeRule& rule) noexcept {
  if (!valid(rule)) return {SizeStatus::bad_rule};
  if (!valid_side(height) || !valid_side(width)) return {SizeStatus::bad_size};
  const Sides sides{as_double(height), as_double(width)};
  if (aspect_ratio(sides) > kMaxAspectRatio) return too_long(aspect_ratio(sides));
  const double factor = as_double(rule.factor);
  const double pixels = as_double(height * width);
  const Sides target = rounded(sides, factor);
  if (target.height * target.width > as_double(rule.max_pixels)) {
    return result(shrunk(sides, std::sqrt(pixels / as_double(rule.max_pixels)), factor),
                  Branch::shrunk);
  }
  if (target.height * target.width < as_double(rule.min_pixels)) {
    return result(grown(sides, std::sqrt(as_double(rule.min_pixels) / pixels), factor),
                  Branch::grown);
  }
  return result(target, Branch::rounded);
}

std::int64_t clip_max_pixels(std::int64_t frames, const ClipRule& rule) noexcept {
  if (!rule.cap_pixels_per_frame) return rule.size.max_pixels;
  std::int64_t per_frame = rule.size.max_pixels / frames;
  if (per_frame > kFrameCap) per_frame = kFrameCap;
  const auto floor = static_cast<std::int64_t>(kFrameFloorFactor * as_double(rule.size.min_pixels));
  return (per_frame < floor ? floor : per_frame) * frames;
}

TargetSize video_target_size(std::int64_t frames, std::int64_t height, std::int64_t width,
                             const ClipRule& rule) noexcept {
  if (!valid(rule.size) || rule.temporal_patch < 1) return {SizeStatus::bad_rule};
  if (!valid_side(height) || !valid_side(width) || frames > kMaxFrames)
    return {SizeStatus::bad_size};
  if (frames < rule.temporal_patch) return {SizeStatus::too_few_frames};
  const double factor = as_double(rule.size.factor);
  Sides sides{as_double(height), as_double(width)};
  const bool enlarged = sides.height < factor || sides.width < factor;
  if (enlarged) sides = enlarged_to(sides, factor);
  if (aspect_ratio(sides) > kMaxAspectRatio) return too_long(aspect_ratio(sides));
  TargetSize size = clip_size(as_double(frames), sides, rule);
  size.enlarged_first = enlarged;
  return size;
}

Grid grid_of(std::int64_t frames, const TargetSize& size, std::int64_t patch,
             std::int64_t temporal_patch) noexcept {
  return {(frames + temporal_patch - 1) / temporal_patch, size.height / patch, size.width / patch};
}

TargetSize pooled_target_size(std::int64_t height, std::int64_t width,
                              const PooledRule& rule) noexcept {
  constexpr std::int64_t kMaxUnit = 1024, kMaxBudget = std::int64_t{1} << 20;
  if (rule.patch < 1 || rule.patch > kMaxUnit || rule.pool < 1 || rule.pool > kMaxUnit ||
      rule.budget < 1 || rule.budget > kMaxBudget) {
    return {SizeStatus::bad_rule};
  }
  if (!valid_side(height) || !valid_side(width)) return {SizeStatus::bad_size};
  const double h = as_double(height), w = as_double(width);
  const double target_pixels =
      as_double(rule.budget * rule.pool * rule.pool * rule.patch * rule.patch);
  const double block = as_double(rule.patch * rule.pool), budget = as_double(rule.budget);
  const double factor = std::sqrt(target_pixels / as_double(height * width));
  Sides blocks{std::floor(factor * h / block), std::floor(factor * w / block)};
  if (blocks.height == 0 && blocks.width == 0) return {SizeStatus::no_pixels};
  Branch branch = Branch::fitted;
  if (blocks.height == 0 || blocks.width == 0) {
    branch = Branch::strip;
    blocks = blocks.height == 0 ? Sides{1, strip_blocks(w, h, budget)}
                                : Sides{strip_blocks(h, w, budget), 1};
  }
  const Sides target{blocks.height * block, blocks.width * block};
  if (target.height * target.width > target_pixels) return {SizeStatus::over_budget};
  return result(target, branch);
}

}  // namespace sightline::calc
