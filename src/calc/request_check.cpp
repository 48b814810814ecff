// One function per rule; check_request() runs them in order (request_check.hpp).
#include "calc/request_check.hpp"

#include "calc/sampling.hpp"

namespace sightline::calc {
namespace {

constexpr std::size_t kShownBytes = 40;  // of a word that was not understood

Problem unknown_model(std::string_view id) noexcept {
  Problem problem{ErrorCode::unknown_model, "model"};
  problem.message.add("model: expected one of ");
  for (const Model& model : models()) {
    if (&model != &models().front()) problem.message.add(", ");
    problem.message.add(model.id);
  }
  const std::string_view shown(id.data(), id.size() < kShownBytes ? id.size() : kShownBytes);
  problem.message.add(", found '").add(shown).add(shown.size() < id.size() ? "..." : "").add("'");
  return problem;
}

/// "INPUT: WHO does not have it; WAY OUT".
Problem misplaced(ErrorCode code, std::string_view input, std::string_view why) noexcept {
  Problem problem{code, input};
  problem.message.add(input).add(": ").add(why);
  return problem;
}

Problem check_sides(const Request& request) noexcept {
  const Problem height = check_range("height", request.height, 1, kMaxSide);
  return height.ok() ? check_range("width", request.width, 1, kMaxSide) : height;
}

Problem check_frames(const Request& request, const Model& model) noexcept {
  if (request.mode == Mode::image) {
    if (!request.frames) return {};
    return misplaced(ErrorCode::not_for_mode, "frames", "an image has one; use mode video");
  }
  const std::int64_t frames = request.frames.value_or(kDefaultFrames);
  const bool real_qwen = request.mode == Mode::video && model.is_qwen();
  if (real_qwen && frames < kQwenTemporal) {
    Problem problem{ErrorCode::too_few_frames, "frames", static_cast<double>(frames),
                    static_cast<double>(kQwenTemporal), static_cast<double>(kMaxFrames)};
    problem.message.add("t:").add(frames).add(" must be larger than temporal_factor:");
    problem.message.add(kQwenTemporal);
    return problem;
  }
  if (frames < 1) {
    Problem problem{ErrorCode::no_frames, "frames", static_cast<double>(frames), 1,
                    static_cast<double>(kMaxFrames)};
    problem.message.add("frame count must be at least 1");
    return problem;
  }
  const Problem range = check_range("frames", frames, 1, kMaxFrames);
  const std::int64_t area = request.height * request.width;
  if (!range.ok() || frames <= kMaxVolume / area) return range;
  return check_range("frames * height * width", frames * area, 1, kMaxVolume);
}

Problem check_prepared(const Request& request, const Model& model) noexcept {
  if (request.mode != Mode::video_prepared) return {};
  for (const bool given : {request.min_pixels.has_value(), request.max_pixels.has_value(),
                           request.budget_tokens.has_value(), request.soft_token_budget.has_value(),
                           request.cap_pixels_per_frame}) {
    if (given) {
      Problem problem{ErrorCode::not_for_mode, ""};
      problem.message.add("prepared frames are not resized: limits and budgets mean nothing");
      return problem;
    }
  }
  const std::int64_t factor = model.is_qwen() ? kQwenFactor : kGemmaFactor;
  const bool height_fits = request.height % factor == 0;
  if (height_fits && request.width % factor == 0) return {};
  Problem problem{ErrorCode::prepared_sides, height_fits ? "width" : "height"};
  problem.found = static_cast<double>(height_fits ? request.width : request.height);
  problem.low = static_cast<double>(factor);
  problem.high = static_cast<double>(kMaxSide);
  problem.message.add("prepared video frame sides must be positive multiples of ").add(factor);
  return problem;
}

Problem check_qwen(const Request& request) noexcept {
  if (request.soft_token_budget) {
    return misplaced(ErrorCode::not_for_model, "soft_token_budget",
                     "only Gemma has one; use budget_tokens or max_pixels");
  }
  if (request.cap_pixels_per_frame && request.mode != Mode::video) {
    return misplaced(ErrorCode::not_for_mode, "cap_pixels_per_frame", "only for mode video");
  }
  if (request.budget_tokens && request.mode != Mode::image) {
    return misplaced(ErrorCode::not_for_mode, "budget_tokens",
                     "only for mode image; use max_pixels");
  }
  if (request.budget_tokens && request.max_pixels) {
    return misplaced(ErrorCode::both_given, "budget_tokens", "stands for max_pixels");
  }
  Problem problem;
  if (request.budget_tokens)
    problem = check_range("budget_tokens", *request.budget_tokens, 1, kMaxBudget);
  if (problem.ok() && request.min_pixels)
    problem = check_range("min_pixels", *request.min_pixels, 1, kMaxPixelLimit);
  if (problem.ok() && request.max_pixels)
    problem = check_range("max_pixels", *request.max_pixels, 1, kMaxPixelLimit);
  return problem;
}

Problem check_gemma(const Request& request) noexcept {
  constexpr std::string_view kWhy = "only Qwen has it; use soft_token_budget";
  if (request.budget_tokens) return misplaced(ErrorCode::not_for_model, "budget_tokens", kWhy);
  if (request.min_pixels) return misplaced(ErrorCode::not_for_model, "min_pixels", kWhy);
  if (request.max_pixels) return misplaced(ErrorCode::not_for_model, "max_pixels", kWhy);
  if (request.cap_pixels_per_frame)
    return misplaced(ErrorCode::not_for_model, "cap_pixels_per_frame", kWhy);
  if (!request.soft_token_budget) return {};
  for (const std::int64_t budget : kSoftTokenBudgets) {
    if (*request.soft_token_budget == budget) return {};
  }
  Problem problem{ErrorCode::bad_budget, "soft_token_budget",
                  static_cast<double>(*request.soft_token_budget)};
  problem.low = static_cast<double>(kSoftTokenBudgets.front());
  problem.high = static_cast<double>(kSoftTokenBudgets.back());
  problem.message.add("`max_soft_tokens` must be one of (");
  for (const std::int64_t budget : kSoftTokenBudgets) {
    if (budget != kSoftTokenBudgets.front()) problem.message.add(", ");
    problem.message.add(budget);
  }
  problem.message.add("), got ").add(*request.soft_token_budget).add(".");
  return problem;
}

}  // namespace

Problem check_request(const Request& request, const Model* model) noexcept {
  if (model == nullptr) return unknown_model(request.model);
  Problem problem = check_sides(request);
  if (problem.ok()) problem = check_frames(request, *model);
  if (problem.ok()) problem = check_prepared(request, *model);
  if (problem.ok()) problem = model->is_qwen() ? check_qwen(request) : check_gemma(request);
  return problem;
}

}  // namespace sightline::calc
