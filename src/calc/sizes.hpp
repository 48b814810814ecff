// The size a picture or clip is resized to, its patch grid and its number of tokens. Used by the
// image processor and by the calculator. All in double, as the reference computes, with an own
// half-even rounding that no floating-point mode alters.
#pragma once

#include <cstdint>

namespace sightline::calc {

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
  no_pixels,       ///< Gemma: both sides come out as 0
  over_budget,     ///< Gemma: the sides that come out exceed the budget
};

/// Which part of the rule decided.
enum class Branch : std::uint8_t {
  given,    ///< no rule: prepared frames
  rounded,  ///< both sides rounded to the factor
  shrunk,   ///< to max_pixels
  grown,    ///< to min_pixels
  fitted,   ///< Gemma: scaled to fill the budget
  strip,    ///< Gemma: one side would be 0, so it is one block and the other follows the ratio
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
  Branch branch = Branch::given;
  double aspect_ratio = 0;      ///< the ratio found, with SizeStatus::aspect_ratio
  bool enlarged_first = false;  ///< a clip with a side below the factor
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

/// The limit that a clip of `frames` frames is held to: max_pixels, or the cap times the frames.
/// HF: Qwen3VLVideoProcessor.resize. frames >= 1.
std::int64_t clip_max_pixels(std::int64_t frames, const ClipRule& rule) noexcept;

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

/// Gemma 4: units of `patch` pixels, pooled `pool` x `pool` into a token; at most `budget` tokens a
/// picture or frame.
struct PooledRule {
  std::int64_t patch = 16;
  std::int64_t pool = 3;
  std::int64_t budget = 0;
};

/// The largest size of about the same ratio that the budget holds; small pictures grow. HF:
/// gemma4/image_processing_gemma4.py get_aspect_ratio_preserving_size.
TargetSize pooled_target_size(std::int64_t height, std::int64_t width,
                              const PooledRule& rule) noexcept;

}  // namespace sightline::calc
