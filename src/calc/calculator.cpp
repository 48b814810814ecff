// The rows of the calculator, from the size rules (calculator.hpp).
#include "calc/calculator.hpp"

#include "calc/request_check.hpp"

namespace sightline::calc {
namespace {

std::int64_t squared(std::int64_t value) noexcept { return value * value; }

Problem problem_of(const TargetSize& size, const Request& request) noexcept {
  if (size.status == SizeStatus::ok) return {};
  if (size.status == SizeStatus::aspect_ratio) {
    Problem problem{ErrorCode::aspect_ratio, "", size.aspect_ratio, 1, kMaxAspectRatio};
    problem.message.add("absolute aspect ratio must be smaller than 200, got ");
    problem.message.add_python_float(size.aspect_ratio);
    return problem;
  }
  Problem problem{ErrorCode::no_size, ""};
  problem.message.add("no size of whole blocks fits the budget for ").add(request.height);
  problem.message.add("x").add(request.width).add(" pixels");
  return problem;
}

ClipRule limits_of(const Request& request) noexcept {
  const bool image = request.mode == Mode::image;
  ClipRule rule;
  rule.size.factor = kQwenFactor;
  rule.size.min_pixels = request.min_pixels.value_or(image ? kImageMinPixels : kVideoMinPixels);
  rule.size.max_pixels = request.max_pixels.value_or(image ? kImageMaxPixels : kVideoMaxPixels);
  if (request.budget_tokens) rule.size.max_pixels = *request.budget_tokens * kTokenPixels;
  rule.temporal_patch = kQwenTemporal;
  rule.cap_pixels_per_frame = request.cap_pixels_per_frame;
  return rule;
}

std::int64_t soft_tokens_of(const Request& request) noexcept {
  return request.soft_token_budget.value_or(request.mode == Mode::image ? kImageSoftTokens
                                                                        : kVideoSoftTokens);
}

TargetSize size_of(const Request& request, const Result& result) noexcept {
  if (request.mode == Mode::video_prepared) {
    return {SizeStatus::ok, request.height, request.width};
  }
  if (!result.model->is_qwen()) {
    return pooled_target_size(request.height, request.width,
                              {kUnit, kGemmaPool, soft_tokens_of(request)});
  }
  const ClipRule limits = limits_of(request);
  return request.mode == Mode::image
             ? image_target_size(request.height, request.width, limits.size)
             : video_target_size(result.frames, request.height, request.width, limits);
}

/// Rows 3 to 9 and the budget, for Qwen: two frames a group, four units a token.
void fill_qwen(const Request& request, Result& r) noexcept {
  r.temporal_groups = (r.frames + kQwenTemporal - 1) / kQwenTemporal;
  r.repeated_frames = r.temporal_groups * kQwenTemporal - r.frames;
  r.grid_rows = r.resized_height / kUnit;
  r.grid_cols = r.resized_width / kUnit;
  r.processor_units = r.grid().patches();
  r.model_patch_positions = r.processor_units;
  r.visual_tokens = r.grid().tokens(kQwenMerge);
  r.pixel_values_shape = {2, {r.processor_units, kChannels * kQwenTemporal * squared(kUnit)}};
  const std::int64_t longer = r.grid_rows > r.grid_cols ? r.grid_rows : r.grid_cols;
  r.position_span = longer / kQwenMerge;
  const bool image = r.mode == Mode::image;
  // Start and end marks around every group; a clip keeps the template's outer pair too.
  r.prompt_tokens = r.visual_tokens + 2 * r.temporal_groups + (image ? 0 : 2);
  if (r.mode == Mode::video_prepared) return;
  const ClipRule limits = limits_of(request);
  r.budget = image ? limits.size.max_pixels : clip_max_pixels(r.frames, limits);
  const std::int64_t slices = image ? 1 : r.temporal_groups * kQwenTemporal;
  r.budget_share = static_cast<double>(slices * r.resized_height * r.resized_width) /
                   static_cast<double>(r.budget);
  r.budget_below_minimum = r.budget < limits.size.min_pixels;
}

/// The same for Gemma: every frame is a group, nine units a token; the encoder-free model merges
/// them before its single map.
void fill_gemma(const Request& request, Result& r) noexcept {
  const bool unified = r.model->family == Family::gemma4_unified;
  const std::int64_t units = (r.resized_height / kUnit) * (r.resized_width / kUnit);
  const std::int64_t pooled = squared(kGemmaPool), tokens = units / pooled;
  r.temporal_groups = r.frames;
  r.grid_rows = r.resized_height / r.model->patch;
  r.grid_cols = r.resized_width / r.model->patch;
  r.processor_units = units * r.frames;
  r.model_patch_positions = (unified ? tokens : units) * r.frames;
  r.visual_tokens = tokens * r.frames;
  r.prompt_tokens = r.visual_tokens + 2 * r.frames;
  if (r.mode == Mode::video_prepared) return;
  r.budget = soft_tokens_of(request);
  r.budget_share = static_cast<double>(tokens) / static_cast<double>(r.budget);
  const std::int64_t slots = unified ? r.budget : r.budget * pooled;
  r.pixel_values_shape = {3, {r.frames, slots, kChannels * squared(r.model->patch)}};
  r.padding_slots = r.frames * slots - r.model_patch_positions;
}

}  // namespace

std::string_view name_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::image:
      return "image";
    case Mode::video:
      return "video";
    case Mode::video_prepared:
      return "video-prepared";
  }
  return "";
}

std::string_view name_of(Branch branch) noexcept {
  switch (branch) {
    case Branch::given:
      return "as given";
    case Branch::rounded:
      return "rounded";
    case Branch::shrunk:
      return "shrunk to max";
    case Branch::grown:
      return "grown to min";
    case Branch::fitted:
      return "fitted to budget";
    case Branch::strip:
      return "one block thick";
  }
  return "";
}

Result calculate(const Request& request) noexcept {
  Result r;
  r.model = find_model(request.model);
  r.mode = request.mode;
  r.problem = check_request(request, r.model);
  if (!r.problem.ok()) return r;
  const bool image = request.mode == Mode::image;
  r.frames = image ? 1 : request.frames.value_or(kDefaultFrames);
  const TargetSize size = size_of(request, r);
  r.problem = problem_of(size, request);
  if (!r.problem.ok()) return r;
  r.resized_height = size.height;
  r.resized_width = size.width;
  r.branch = size.branch;
  r.enlarged_first = size.enlarged_first;
  if (r.model->is_qwen()) {
    fill_qwen(request, r);
  } else {
    fill_gemma(request, r);
  }
  r.scalars = r.visual_tokens * r.model->language_width;
  if (!image) r.tokens_per_group = r.visual_tokens / r.temporal_groups;
  r.pixels_per_token = static_cast<double>(r.frames * request.height * request.width) /
                       static_cast<double>(r.visual_tokens);
  return r;
}

}  // namespace sightline::calc
