// The image half of a checkpoint's preprocessor files: geometry, limits, normalisation. Read from
// JSON, never guessed: what decides shapes or values must stand in the file. A value type,
// immutable after reading.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "image/sizes.hpp"
#include "io/json.hpp"

namespace sightline::image {

/// Bound of both limits; keeps every product of sides in 64 bits, far above any published value.
inline constexpr std::int64_t kMaxPixelLimit = std::int64_t{1} << 40;

/// What the caller may change about a checkpoint's limits (--min-pixels, --max-pixels).
struct PixelLimits {
  std::optional<std::int64_t> min_pixels, max_pixels;
};

/// HF: Qwen2VLImageProcessor. Specification section 2.
struct ProcessorConfig {
  std::string file;  ///< where it was read
  std::string image_processor_type;
  std::int64_t min_pixels = 0;  ///< size.shortest_edge, a number of pixels despite its name
  std::int64_t max_pixels = 0;  ///< size.longest_edge
  std::int64_t patch_size = 0;
  std::int64_t temporal_patch_size = 0;
  std::int64_t merge_size = 0;
  std::array<double, 3> image_mean{};
  std::array<double, 3> image_std{};
  double rescale_factor = 1.0 / 255.0;
  bool do_resize = true;
  bool do_rescale = true;
  bool do_normalize = true;

  /// 1 <= min_pixels <= max_pixels <= kMaxPixelLimit.
  [[nodiscard]] bool has_valid_limits() const noexcept {
    return min_pixels >= 1 && min_pixels <= max_pixels && max_pixels <= kMaxPixelLimit;
  }
  /// Both sides of a picture are multiples of this.
  [[nodiscard]] std::int64_t factor() const noexcept { return patch_size * merge_size; }
  [[nodiscard]] SizeRule size_rule() const noexcept { return {factor(), min_pixels, max_pixels}; }
  /// Floats of one row of pixel_values.
  [[nodiscard]] std::int64_t row_floats() const noexcept {
    return 3 * temporal_patch_size * patch_size * patch_size;
  }
};

/// Reads processor_config.json (its `image_processor` member, newer checkpoints) or else
/// preprocessor_config.json. Throws Error(missing_file) when the directory has neither,
/// Error(invalid_processor) for a value that is missing, of the wrong type, or of a processor that
/// is not implemented; Error(invalid_option) for limits that contradict.
ProcessorConfig read_processor_config(const std::string& directory, const PixelLimits& limits = {});

/// The same from parsed JSON; `file` and `path` are what errors call it.
ProcessorConfig parse_processor_config(const io::Json& json, const std::string& file,
                                       const std::string& path = "");

}  // namespace sightline::image
