// Before a run: how many tokens a prompt has, what memory and work it takes, and how long that is
// likely to last on this machine. Work is counted by the walk that runs the engine's own code
// (walk.hpp); nothing is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/machine_rates.hpp"
#include "audit/subject.hpp"
#include "audit/walk.hpp"

namespace sightline::audit {

/// A picture or clip of the prompt.
struct PlannedVisual {
  std::int64_t frames = 1, width = 0, height = 0;  ///< as given; frames are those looked at
  std::int64_t resized_width = 0, resized_height = 0;
  nn::Grid grid;
  std::int64_t tokens = 0;
  bool video = false;
};

/// "640x480" for a picture, "16x640x480" for a clip of 16 sampled frames; resized by the rules of
/// the checkpoint's processor files, or the published ones. Throws Error(invalid_option,
/// image_aspect_ratio).
PlannedVisual plan_picture(const model::ModelInfo& info, const Subject& subject,
                           const std::string& size);
PlannedVisual plan_clip(const model::ModelInfo& info, const Subject& subject,
                        const std::string& size);

struct PlanStage {
  std::string name;  ///< "encode", "prefill", "step"
  kernels::Work work;
  double seconds = 0;  ///< the longer of computing and reading weights, and moving activations
};

struct Plan {
  std::vector<PlannedVisual> visuals;
  std::int64_t visual_tokens = 0, prompt_tokens = 0;
  std::int64_t weight_bytes = 0, cache_bytes = 0, scratch_bytes = 0;
  std::int64_t picture_bytes = 0;  ///< pixels as decoded and resized, and the patches made of them
  std::int64_t program_bytes = 0;  ///< code and tokenizer, before anything runs; by the caller
  std::vector<PlanStage> stages;   ///< encode, prefill of the prompt, one further token
  MachineRates rates;

  [[nodiscard]] std::int64_t memory_bytes() const {
    return weight_bytes + cache_bytes + scratch_bytes + picture_bytes + program_bytes;
  }
};

/// Counts the run of a prompt of these pictures, clips and `other_tokens` other tokens, in pieces
/// of `piece` tokens, as the kernel set and threads of `rates` run it in bf16. Throws
/// Error(no_vision_tower, context_length_exceeded).
Plan make_plan(const model::VisionLanguageModel& model, std::vector<PlannedVisual> visuals,
               std::int64_t other_tokens, std::int64_t piece, const MachineRates& rates);

}  // namespace sightline::audit
