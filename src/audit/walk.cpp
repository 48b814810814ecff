// Walks that count (walk.hpp).
#include "audit/walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/positions.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr std::int64_t kTokensBefore = 4;  // <|im_start|> user \n <|vision_start|>

/// All that a counting run borrows. Its threads have nothing to compute, but scratch memory.
struct Counting {
  explicit Counting(const Runner& runner)
      : threads(runner.threads), pass(runner.kernels, threads, arena) {
    pass.precision = runner.precision;
    pass.tally = &tally;
    tally.only = true;
  }
  Threads threads;
  Arena arena{Arena::Kind::addresses};
  kernels::Tally tally;
  nn::Pass pass;
};

std::vector<model::VisualInput> inputs(const model::ModelInfo& info, Arena& arena,
                                       const std::vector<nn::Grid>& grids) {
  std::vector<model::VisualInput> result;
  for (const nn::Grid& grid : grids)
    result.push_back({arena.matrix(grid.patches(), info.patch_values), grid});
  return result;
}

std::int64_t visual_tokens(const model::ModelInfo& info, const std::vector<nn::Grid>& grids) {
  std::int64_t patches = 0;
  for (const nn::Grid& grid : grids) patches += grid.patches();
  return patches / (info.spatial_merge_size * info.spatial_merge_size);
}

/// Where the prompt has the rows of pictures, for models that add to them between layers.
std::vector<model::FeatureRows> features_of(const model::ModelInfo& info, Arena& arena,
                                            const std::vector<std::int32_t>& ids) {
  std::vector<model::FeatureRows> all;
  for (const std::int32_t id : {info.image_token_id, info.video_token_id}) {
    const auto rows = std::count(ids.begin(), ids.end(), id);
    const auto runs = model::feature_runs(ids, id, arena.matrix(rows, info.feature_width()));
    all.insert(all.end(), runs.begin(), runs.end());
  }
  return all;
}

nn::Positions positions_of(const model::ModelInfo& info, const std::vector<std::int32_t>& ids,
                           const PromptShape& prompt) {
  nn::Positions positions;
  const auto types = model::token_types(ids, info.image_token_id, info.video_token_id);
  model::append_positions(types, prompt.images, prompt.videos, info.spatial_merge_size, 0,
                          positions);
  return positions;
}

}  // namespace

std::vector<std::int32_t> prompt_ids(const model::ModelInfo& info, const PromptShape& prompt) {
  const std::int64_t tokens =
      visual_tokens(info, prompt.images) + visual_tokens(info, prompt.videos) + prompt.other_tokens;
  if (tokens > info.max_positions) {
    throw Error(Code::context_length_exceeded,
                fmt::format("the prompt: expected at most {} tokens (max_position_embeddings), "
                            "found {}: use fewer or smaller pictures",
                            info.max_positions, tokens));
  }
  std::vector<std::int32_t> ids;
  const std::int64_t before = std::min(kTokensBefore, prompt.other_tokens);
  ids.insert(ids.end(), static_cast<std::size_t>(before), 0);
  ids.insert(ids.end(), static_cast<std::size_t>(visual_tokens(info, prompt.images)),
             info.image_token_id);
  ids.insert(ids.end(), static_cast<std::size_t>(visual_tokens(info, prompt.videos)),
             info.video_token_id);
  ids.insert(ids.end(), static_cast<std::size_t>(prompt.other_tokens - before), 0);
  return ids;
}

Walk walk_whole(const model::VisionLanguageModel& model, const PromptShape& prompt,
                nn::Precision precision) {
  const model::ModelInfo& info = model.info();
  const std::vector<std::int32_t> ids = prompt_ids(info, prompt);
  const nn::Positions positions = positions_of(info, ids, prompt);
  Counting run({kernels::select("reference"), 1, precision});
  const auto images = inputs(info, run.arena, prompt.images),
             videos = inputs(info, run.arena, prompt.videos);
  EventRecorder recorder({false, &run.tally, {}, nullptr});
  run.pass.trace = &recorder;
  model::Cache cache = model.new_cache(precision);
  const auto n = static_cast<std::int64_t>(ids.size());
  model.whole(run.pass, {ids, images, videos, &positions}, cache,
              run.arena.matrix(n, info.vocab_size));
  Walk walk;
  walk.events = recorder.take();
  walk.work = run.tally.work;
  walk.prompt_tokens = n;
  walk.visual_tokens = n - prompt.other_tokens;
  walk.scratch_bytes = static_cast<std::int64_t>(run.arena.peak_bytes());
  walk.cache_bytes = cache.bytes();
  return walk;
}

RunCost count_run(const model::VisionLanguageModel& model, const PromptShape& prompt,
                  const Runner& runner, std::int64_t piece) {
  const model::ModelInfo& info = model.info();
  const std::vector<std::int32_t> ids = prompt_ids(info, prompt);
  const nn::Positions positions = positions_of(info, ids, prompt);
  const auto n = static_cast<std::int64_t>(ids.size());
  Counting run(runner);
  RunCost cost;
  // 1. Each picture and clip by itself.
  for (const auto* grids : {&prompt.images, &prompt.videos}) {
    for (const nn::Grid& grid : *grids) {
      const ArenaScope scope(run.arena);
      const auto visual = inputs(info, run.arena, {grid});
      model.encode(run.pass, visual,
                   run.arena.matrix(visual_tokens(info, {grid}), info.feature_width()));
    }
  }
  Arena stored(Arena::Kind::addresses);  // features outlive the runs: no scratch of theirs
  const std::vector<model::FeatureRows> features = features_of(info, stored, ids);
  cost.encode = run.tally.work;
  // 2. The prompt, piece by piece; logits of its last row.
  model::Cache cache = model.new_cache(runner.precision);
  const auto forward = [&](std::int64_t first, std::int64_t count, model::RowKind kind, bool last) {
    const ArenaScope scope(run.arena);
    const View rows = run.arena.matrix(count, info.hidden_size);
    const std::vector<std::int32_t> part(static_cast<std::size_t>(count), 0);
    model.embed(run.pass, part, rows);
    const std::int64_t wanted = count - 1;
    const auto here = kind == model::RowKind::prompt
                          ? model::features_within(features, first, count)
                          : std::vector<model::FeatureRows>{};
    model::Segment segment{&cache, 0, count, &positions, first, kind, {}, nullptr, here};
    model::ForwardResult result;
    if (last) {
      segment.wanted = {&wanted, 1};
      result.logits = run.arena.matrix(1, info.vocab_size);
    }
    model.forward(run.pass, rows, {&segment, 1}, result);
  };
  for (std::int64_t first = 0; first < n; first += piece) {
    const std::int64_t count = std::min(piece, n - first);
    forward(first, count, model::RowKind::prompt, first + count == n);
  }
  cost.prefill = run.tally.work - cost.encode;
  cost.cache_bytes = cache.bytes();
  // 3. One token more.
  const kernels::Work before = run.tally.work;
  forward(n - 1, 1, model::RowKind::step, true);
  cost.step = run.tally.work - before;
  cost.scratch_bytes = static_cast<std::int64_t>(run.arena.peak_bytes());
  return cost;
}

}  // namespace sightline::audit
