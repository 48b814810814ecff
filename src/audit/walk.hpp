// A walk through a model without weights and without arithmetic (generate/load_model.hpp,
// declare_model): the calls of a run, with shapes and counted work, from a configuration alone. The
// code that runs is the model's own; its kernels count instead of computing, and its scratch memory
// is addresses without memory.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/events.hpp"
#include "model/vision_language_model.hpp"
#include "nn/vision_positions.hpp"

namespace sightline::audit {

/// A prompt by its sizes: pictures and clips as grids of patches, and other tokens.
struct PromptShape {
  std::vector<nn::Grid> images, videos;
  std::int64_t other_tokens = 0;
};

struct Walk {
  Events events;
  kernels::Work work;
  std::int64_t prompt_tokens = 0, visual_tokens = 0;
  std::int64_t scratch_bytes = 0;  ///< most scratch memory in use at once
  std::int64_t cache_bytes = 0;    ///< after the prompt
};

/// Ids of such a prompt: up to four other tokens, the placeholders, the remaining other tokens (the
/// order of the chat template; the other ids are 0). Throws Error(context_length_exceeded) beyond
/// the model's positions.
std::vector<std::int32_t> prompt_ids(const model::ModelInfo& info, const PromptShape& prompt);

/// The calls of transformers for the whole prompt: VisionLanguageModel::whole(). Throws
/// Error(no_vision_tower) for pictures without a tower, Error(context_length_exceeded).
Walk walk_whole(const model::VisionLanguageModel& model, const PromptShape& prompt,
                nn::Precision precision);

/// What would run. Scratch memory depends on it (rows in groups, in tiles, by thread); counted work
/// does not.
struct Runner {
  const kernels::Kernels& kernels;
  int threads = 1;
  nn::Precision precision = nn::Precision::bf16;
};

/// What the engine itself runs: each picture through the tower, the prompt in pieces of `piece`
/// tokens, the head on the last row, then one step; no events.
struct RunCost {
  kernels::Work encode, prefill, step;  ///< step: one token after the prompt
  std::int64_t scratch_bytes = 0, cache_bytes = 0;
};
RunCost count_run(const model::VisionLanguageModel& model, const PromptShape& prompt,
                  const Runner& runner, std::int64_t piece);

}  // namespace sightline::audit
