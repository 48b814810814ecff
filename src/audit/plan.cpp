// Sizes to tokens, counted work to time (plan.hpp).
#include "audit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/module_tree.hpp"
#include "audit/picture_grid.hpp"
#include "image/sizes.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

std::string directory_of(const Subject& subject) { return subject.directory.value_or(""); }

PlannedVisual settled(PlannedVisual visual, const image::TargetSize& target,
                      const image::SizeRule& rule, const model::ModelInfo& info) {
  check_target(target, {visual.width, visual.height}, rule);
  visual.resized_width = target.width;
  visual.resized_height = target.height;
  const image::Grid grid =
      image::grid_of(visual.frames, target, info.patch_size, info.temporal_patch_size);
  visual.grid = {grid.t, grid.h, grid.w};
  visual.tokens = grid.tokens(info.spatial_merge_size);
  return visual;
}

/// Time of one stage: products are bound by arithmetic or by reading weights, whichever is slower;
/// then what is no product is bound by moving its operands.
double seconds_of(const kernels::Work& work, const MachineRates& rates) {
  return std::max(static_cast<double>(work.flops) / rates.flops,
                  static_cast<double>(work.weight_bytes) / rates.weight_bytes) +
         static_cast<double>(work.activation_bytes) / rates.activation_bytes;
}

/// Colours as bytes before and after the resize, patches as float32.
std::int64_t bytes_of(const PlannedVisual& visual, const model::ModelInfo& info) {
  constexpr std::int64_t kColours = 3;
  const std::int64_t pixels =
      visual.frames * (visual.width * visual.height + visual.resized_width * visual.resized_height);
  return kColours * pixels +
         visual.grid.patches() * info.patch_values * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

PlannedVisual plan_picture(const model::ModelInfo& info, const Subject& subject,
                           const std::string& size) {
  const PictureSize given = parse_picture_size("--image", size);
  PlannedVisual visual;
  visual.width = given.width;
  visual.height = given.height;
  const image::SizeRule rule = size_rule(info, directory_of(subject), {});
  return settled(visual, image::image_target_size(given.height, given.width, rule), rule, info);
}

PlannedVisual plan_clip(const model::ModelInfo& info, const Subject& subject,
                        const std::string& size) {
  const video::VideoProcessorConfig processor = video_processor(info, directory_of(subject));
  const ClipSize given = parse_clip_size("--video", size, processor.sampling.max_frames);
  PlannedVisual visual;
  visual.video = true;
  visual.frames = given.frames;
  visual.width = given.frame.width;
  visual.height = given.frame.height;
  const image::ClipRule rule = processor.clip_rule();
  return settled(visual, image::video_target_size(visual.frames, visual.height, visual.width, rule),
                 rule.size, info);
}

Plan make_plan(const model::VisionLanguageModel& model, std::vector<PlannedVisual> visuals,
               std::int64_t other_tokens, std::int64_t piece, const MachineRates& rates) {
  const model::ModelInfo& info = model.info();
  if (!visuals.empty() && !info.has_vision) {
    throw Error(Code::no_vision_tower, "the model has no vision tower: expected --tokens alone");
  }
  Plan plan;
  PromptShape prompt;
  prompt.other_tokens = other_tokens;
  for (const PlannedVisual& visual : visuals) {
    (visual.video ? prompt.videos : prompt.images).push_back(visual.grid);
    plan.visual_tokens += visual.tokens;
    plan.picture_bytes += bytes_of(visual, info);
  }
  plan.prompt_tokens = plan.visual_tokens + other_tokens;
  const Runner runner{kernels::select(rates.kernel_set), rates.threads, nn::Precision::bf16};
  const RunCost cost = count_run(model, prompt, runner, piece);
  plan.visuals = std::move(visuals);
  plan.weight_bytes = module_tree(info.report).bytes();
  plan.cache_bytes = cost.cache_bytes;
  plan.scratch_bytes = cost.scratch_bytes;
  plan.rates = rates;
  plan.stages = {{"encode", cost.encode, seconds_of(cost.encode, rates)},
                 {"prefill", cost.prefill, seconds_of(cost.prefill, rates)},
                 {"step", cost.step, seconds_of(cost.step, rates)}};
  return plan;
}

}  // namespace sightline::audit
