// From a picture or clip to visual tokens, for every model of models.hpp: the calculator of the
// field guide. Counts shapes only; no weights, no files, no pixels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calc/models.hpp"
#include "calc/problem.hpp"
#include "calc/sizes.hpp"

namespace sightline::calc {

enum class Mode : std::uint8_t {
  image,
  video,           ///< sampled frames, resized by the processor's rule
  video_prepared,  ///< frames whose sides are final: nothing is resized
};

/// "image", "video", "video-prepared".
std::string_view name_of(Mode mode) noexcept;
/// "rounded", "shrunk to max", ...
std::string_view name_of(Branch branch) noexcept;

inline constexpr std::int64_t kMaxSide = 1'000'000;
inline constexpr std::int64_t kMaxBudget = 1 << 20;
inline constexpr std::int64_t kMaxPixelLimit = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxVolume = std::int64_t{1} << 53;  ///< frames * height * width
inline constexpr std::int64_t kDefaultSide = 512, kDefaultFrames = 2;

/// Inputs; names as in golden files and, with dashes, as options of the command.
struct Request {
  std::string_view model = "qwen3.5-9b";
  Mode mode = Mode::image;
  std::int64_t height = kDefaultSide, width = kDefaultSide;  ///< 1 to kMaxSide, in pixels
  std::optional<std::int64_t> frames{};                      ///< of a clip; unset: kDefaultFrames
  std::optional<std::int64_t> budget_tokens{};               ///< Qwen, image: max_pixels / 1024
  std::optional<std::int64_t> soft_token_budget{};           ///< Gemma: one of kSoftTokenBudgets
  std::optional<std::int64_t> min_pixels{},
      max_pixels{};                   ///< Qwen: instead of the published limits
  bool cap_pixels_per_frame = false;  ///< Qwen, video
};

/// Shape of an array, outermost axis first.
struct Shape {
  int rank = 0;  ///< 0: not produced
  std::array<std::int64_t, 3> sizes{};
};

struct Result {
  Problem problem;
  const Model* model = nullptr;
  Mode mode = Mode::image;

  // The rows, in order.
  std::int64_t resized_height = 0, resized_width = 0;
  std::int64_t temporal_groups = 0, repeated_frames = 0;
  std::int64_t grid_rows = 0, grid_cols = 0;  ///< of model positions, in one group
  std::int64_t processor_units = 0;           ///< 16 x 16 pixels, over all groups
  std::int64_t model_patch_positions = 0;
  std::int64_t visual_tokens = 0;
  std::int64_t scalars = 0;  ///< visual_tokens * language width
  Shape pixel_values_shape;
  std::optional<std::int64_t> padding_slots;     ///< Gemma: rows that stand for nothing
  std::optional<std::int64_t> tokens_per_group;  ///< of clips

  // Beyond them.
  Branch branch = Branch::given;
  bool enlarged_first = false;        ///< a clip with a side below the factor
  std::int64_t frames = 1;            ///< 1 for an image
  std::int64_t position_span = 0;     ///< Qwen: what one group advances the position by
  std::int64_t prompt_tokens = 0;     ///< visual tokens with their wrappers, without time stamps
  double pixels_per_token = 0;        ///< pixels given, over all frames, for one visual token
  std::int64_t budget = 0;            ///< pixels (Qwen) or tokens a picture (Gemma); 0: none
  double budget_share = 0;            ///< of it that is used; more than 1 is possible
  bool budget_below_minimum = false;  ///< Qwen: max_pixels < min_pixels

  /// image_grid_thw or video_grid_thw (Qwen).
  [[nodiscard]] Grid grid() const noexcept { return {temporal_groups, grid_rows, grid_cols}; }
};

/// Everything the rows say, or the problem. Never throws, takes no memory.
Result calculate(const Request& request) noexcept;

}  // namespace sightline::calc
