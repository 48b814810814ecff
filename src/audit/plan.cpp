// Sizes to tokens, counted work to time (plan.hpp).
#include "audit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "audit/module_tree.hpp"
#include "audit/picture_grid.hpp"
#include "image/sizes.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr std::int64_t kMostFrames = 768;  // max_frames of the published video processor

std::string directory_of(const Subject& subject) { return subject.directory.value_or(""); }

void check_target(const image::TargetSize& target, const PlannedVisual& visual) {
  if (target.status == image::SizeStatus::ok) return;
  if (target.status == image::SizeStatus::aspect_ratio) {
    throw Error(Code::image_aspect_ratio,
                fmt::format("{}x{}: expected a longest side of at most {} times the shortest",
                            visual.width, visual.height, image::kMaxAspectRatio));
  }
  throw Error(Code::invalid_option,
              fmt::format("{}x{}: expected a size that the processor can resize to its limits",
                          visual.width, visual.height));
}

PlannedVisual settled(PlannedVisual visual, const image::TargetSize& target,
                      const model::ModelInfo& info) {
  check_target(target, visual);
  visual.resized_width = target.width;
  visual.resized_height = target.height;
  const image::Grid grid =
      image::grid_of(visual.frames, target, info.patch_size, info.temporal_patch_size);
  visual.grid = {grid.t, grid.h, grid.w};
  visual.tokens = grid.tokens(info.spatial_merge_size);
  return visual;
}

/// The limits of video_preprocessor_config.json, or the published ones.
image::ClipRule clip_rule(const model::ModelInfo& info, const Subject& subject) {
  const std::string file = directory_of(subject) + "/video_preprocessor_config.json";
  const bool own = subject.directory && io::is_file(file);
  const io::Json json =
      own ? io::read_json_file(file, Code::invalid_processor) : published_video_processor();
  const io::JsonReader size = io::JsonReader(json, file, "", Code::invalid_processor).at("size");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  image::ClipRule rule;
  rule.temporal_patch = info.temporal_patch_size;
  rule.size = {info.patch_size * info.spatial_merge_size,
               size.at("shortest_edge").integer(1, kMost),
               size.at("longest_edge").integer(1, kMost)};
  return rule;
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
  return settled(visual, image::image_target_size(given.height, given.width, rule), info);
}

PlannedVisual plan_clip(const model::ModelInfo& info, const Subject& subject,
                        const std::string& size) {
  const std::size_t cross = size.find_first_of("xX");
  PlannedVisual visual;
  visual.video = true;
  const std::string count = size.substr(0, cross);
  const bool digits =
      cross != std::string::npos && !count.empty() && count.size() < 10 &&
      std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; });
  visual.frames = digits ? std::stoll(count) : 0;
  const std::optional<PictureSize> given =
      cross == std::string::npos ? std::nullopt : read_picture_size(size.substr(cross + 1));
  if (visual.frames < 2 || visual.frames > kMostFrames || !given) {
    throw Error(Code::invalid_option,
                fmt::format("--video: expected FRAMESxWIDTHxHEIGHT with 2 to {} sampled frames, "
                            "such as 16x640x480, found '{}'",
                            kMostFrames, size),
                {{"option", "--video"}, {"found", size}});
  }
  visual.width = given->width;
  visual.height = given->height;
  return settled(visual,
                 image::video_target_size(visual.frames, given->height, given->width,
                                          clip_rule(info, subject)),
                 info);
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
  if (plan.prompt_tokens > info.max_positions) {
    throw Error(Code::context_length_exceeded,
                fmt::format("the prompt: expected at most {} tokens (max_position_embeddings), "
                            "found {}: use fewer or smaller pictures",
                            info.max_positions, plan.prompt_tokens));
  }
  const RunCost cost = count_run(model, prompt, nn::Precision::bf16, piece);
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
