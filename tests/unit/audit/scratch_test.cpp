// Protects: the scratch memory that a plan foretells is at least what a run uses, and near it, with
// every kernel set of the machine: rows in groups, rows in tiles and the memory of threads
// included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "audit/walk.hpp"
#include "generate/load_model.hpp"
#include "generate/step.hpp"

namespace sightline::audit {
namespace {

struct Used {
  std::int64_t scratch = 0, cache = 0;
};

constexpr std::int64_t kPiece = 512;

/// A picture of zeros, a prompt of text in pieces, and one token more, computed; the positions of
/// pictures are left out, which no memory depends on.
Used run(const model::VisionLanguageModel& model, const nn::Grid& grid, std::int64_t tokens,
         const Runner& runner) {
  const model::ModelInfo& info = model.info();
  Threads threads(runner.threads);
  Arena arena;
  nn::Pass pass(runner.kernels, threads, arena);
  pass.precision = runner.precision;
  if (grid.patches() > 0) {
    const ArenaScope scope(arena);
    const View pixels = arena.matrix(grid.patches(), info.patch_values);
    std::fill_n(pixels.data, pixels.rows * pixels.cols, 0.0F);
    const model::VisualInput visual{pixels, grid};
    const std::int64_t merge = info.spatial_merge_size * info.spatial_merge_size;
    model.encode(pass, {&visual, 1}, arena.matrix(grid.patches() / merge, info.feature_width()));
  }
  model::Cache cache = model.new_cache(pass.precision);
  nn::Positions positions;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(tokens); ++i) positions.push(i, i, i);
  for (std::int64_t first = 0; first < tokens; first += kPiece) {
    const ArenaScope scope(arena);
    const std::int64_t count = std::min(kPiece, tokens - first), wanted = count - 1;
    const View rows = arena.matrix(count, info.hidden_size);
    model.embed(pass, std::vector<std::int32_t>(static_cast<std::size_t>(count), 1), rows);
    model::Segment segment{&cache, 0,      count, &positions, first, model::RowKind::prompt,
                           {},     nullptr};
    model::ForwardResult result;
    if (first + count == tokens) {
      segment.wanted = {&wanted, 1};
      result.logits = arena.matrix(1, info.vocab_size);
    }
    model.forward(pass, rows, {&segment, 1}, result);
  }
  const std::int64_t bytes = cache.bytes();
  std::vector<float> logits(static_cast<std::size_t>(info.vocab_size));
  generate::step(model, pass, cache, 1, logits);
  return {static_cast<std::int64_t>(arena.peak_bytes()), bytes};
}

class Scratch : public ::testing::TestWithParam<const char*> {};

TEST_P(Scratch, ForetoldIsAtLeastWhatARunUsesAndNearIt) {
  const auto model =
      generate::load_model(fmt::format("{}/models/{}", SIGHTLINE_TEST_DATA, GetParam()), true);
  struct Case {
    nn::Grid grid;
    std::int64_t tokens;
  };
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    if (!set.available) continue;
    for (const Case& c : {Case{{0, 0, 0}, 20}, Case{{0, 0, 0}, 150}, Case{{1, 16, 16}, 70}}) {
      for (const int threads : {1, 3}) {
        const Runner runner{kernels::select(set.name), threads};
        const std::int64_t merged = c.grid.patches() / 4;
        PromptShape prompt;
        if (merged > 0) prompt.images = {c.grid};
        prompt.other_tokens = c.tokens - merged;
        const RunCost planned = count_run(*model, prompt, runner, kPiece);
        const Used used = run(*model, c.grid, c.tokens, runner);
        const std::string name =
            fmt::format("{}, {} tokens, {} threads", set.name, c.tokens, threads);
        EXPECT_GE(planned.scratch_bytes, used.scratch) << name;
        EXPECT_LE(planned.scratch_bytes, used.scratch + used.scratch / 10) << name;
        EXPECT_EQ(planned.cache_bytes, used.cache) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Scratch, ::testing::Values("dense", "moe", "qwen3vl"));

}  // namespace
}  // namespace sightline::audit
