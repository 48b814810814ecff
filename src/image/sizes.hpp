// The size a picture or clip is resized to, its patch grid and its number of tokens: arithmetic
// only, so that it can be built anywhere (also without exceptions). Depends on nothing but <cmath>
// and <cstdint>. All in double, as the reference computes, with an own half-even rounding that no
// floating-point mode alters.
#pragma once

#include <cstdint>

namespace sightline::image {

/// Round half to even, as Python's round(); independent of the floating-point environment. |value|
/// < 2^52.
double round_half_even(double value) noexcept;

/// Longest side over shortest side that is still accepted. HF: smart_resize.
inline constexpr double kMaxAspectRatio = 200.0;

enum class SizeStatus : std::uint8_t {
  ok,
  bad_rule,        ///< factor, limits or frame counts below 1, or values beyond 2^31
  bad_size,        ///< a side below 1 or beyond 2^31
  aspect_ratio,    ///< longest / shortest > kMaxAspectRatio
  too_few_frames,  ///< a clip of fewer frames than one temporal patch
};

/// Limits count pixels: of a picture, or of a whole clip (frames * height * width).
struct SizeRule {
  std::int64_t factor = 0;  ///< both sides become multiples of it: patch_size * merge_size
  std::int64_t min_pixels = 0;
  std::int64_t max_pixels = 0;
};

struct TargetSize {
  SizeStatus status = SizeStatus::ok;
  std::int64_t height = 0, width = 0;
};

/// Size of a picture of height x width before patching. HF: Qwen2VLImageProcessor smart_resize;
/// specification section 2.2.
TargetSize image_target_size(std::int64_t height, std::int64_t width,
                             const SizeRule& rule) noexcept;

/// What a clip's size depends on besides its pixels.
struct ClipRule {
  SizeRule size;
  std::int64_t temporal_patch = 2;
  bool cap_pixels_per_frame = false;  ///< option of the reference, off by default
};

/// Size of every frame of a clip of `frames` sampled frames. HF: Qwen3VLVideoProcessor
/// smart_resize; specification section 3.2 (the newer rounding of the frame count).
TargetSize video_target_size(std::int64_t frames, std::int64_t height, std::int64_t width,
                             const ClipRule& rule) noexcept;

/// Patches over time, rows and columns: image_grid_thw of the reference.
struct Grid {
  std::int64_t t = 0, h = 0, w = 0;

  /// Rows of pixel_values.
  [[nodiscard]] std::int64_t patches() const noexcept { return t * h * w; }
  /// Tokens that the language model sees: one for each block of merge * merge patches.
  [[nodiscard]] std::int64_t tokens(std::int64_t merge) const noexcept {
    return t * (h / merge) * (w / merge);
  }
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Grid of `frames` frames (1 for a picture) of a target size. Frames are padded to whole temporal
/// patches.
Grid grid_of(std::int64_t frames, const TargetSize& size, std::int64_t patch,
             std::int64_t temporal_patch) noexcept;

}  // namespace sightline::image
