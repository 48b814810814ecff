// The stages and their clock (bench.hpp).
#include "audit/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/arena.hpp"
#include "generate/step.hpp"

namespace sightline::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPiece = 512;  // EngineOptions::prefill_chunk by default

class Stages {
 public:
  Stages(const model::VisionLanguageModel& model, nn::Pass& pass, const BenchSizes& sizes)
      : model_(model),
        pass_(pass),
        sizes_(sizes),
        logits_(static_cast<std::size_t>(model.info().vocab_size)) {}

  BenchLine picture(const nn::Grid& grid);
  BenchLine prompt(std::int64_t tokens);
  BenchLine answer(std::int64_t context);

 private:
  template <class Run>
  void time(BenchLine& line, const Run& run);
  [[nodiscard]] std::int32_t id(std::int64_t i) const;
  void prefill(model::Cache& cache, std::int64_t tokens);

  const model::VisionLanguageModel& model_;
  nn::Pass& pass_;
  const BenchSizes& sizes_;
  std::vector<float> logits_;
};

/// The first run reads the weights from disk and counts; it is not timed.
template <class Run>
void Stages::time(BenchLine& line, const Run& run) {
  kernels::Tally tally;
  pass_.tally = &tally;
  run();
  pass_.tally = nullptr;
  line.work = tally.work;
  for (std::int64_t i = 0; i < sizes_.runs; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    line.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

/// Ids of text, the same in every run; never a placeholder.
std::int32_t Stages::id(std::int64_t i) const {
  const model::ModelInfo& info = model_.info();
  std::int64_t end = info.vocab_size;
  for (const std::int32_t special : {info.image_token_id, info.video_token_id}) {
    if (special > 0) end = std::min<std::int64_t>(end, special);
  }
  constexpr std::int64_t kStride = 7919;  // a prime: neighbours lie in different rows
  return static_cast<std::int32_t>((i * kStride + 1) % end);
}

void Stages::prefill(model::Cache& cache, std::int64_t tokens) {
  nn::Positions positions;
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i) {
    const auto p = static_cast<std::int32_t>(i);
    positions.push(p, p, p);
    ids.push_back(id(i));
  }
  for (std::int64_t first = 0; first < tokens; first += kPiece) {
    const ArenaScope scope(pass_.arena);
    const std::int64_t rows = std::min(kPiece, tokens - first), last = rows - 1;
    const View x = pass_.arena.matrix(rows, model_.info().hidden_size);
    model_.embed(
        pass_,
        std::span(ids).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)), x);
    model::Segment segment;
    segment.cache = &cache;
    segment.rows = rows;
    segment.positions = &positions;
    segment.first_position = first;
    model::ForwardResult result;
    if (first + rows == tokens) {
      segment.wanted = {&last, 1};
      result.logits = {logits_.data(), 1, model_.info().vocab_size};
    }
    model_.forward(pass_, x, {&segment, 1}, result);
  }
}

BenchLine Stages::picture(const nn::Grid& grid) {
  const model::ModelInfo& info = model_.info();
  std::vector<float> pixels(static_cast<std::size_t>(grid.patches() * info.patch_values));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    constexpr std::size_t kLevels = 255;
    pixels[i] = static_cast<float>(i * 37 % kLevels) / static_cast<float>(kLevels) * 2 - 1;
  }
  const model::VisualInput visual{{pixels.data(), grid.patches(), info.patch_values}, grid};
  const std::int64_t merged = grid.patches() / (info.spatial_merge_size * info.spatial_merge_size);
  BenchLine line;
  line.stage = "picture";
  line.size = fmt::format("{}x{}", grid.w * info.patch_size, grid.h * info.patch_size);
  line.tokens = merged;
  time(line, [&] {
    const ArenaScope scope(pass_.arena);
    model_.encode(pass_, {&visual, 1}, pass_.arena.matrix(merged, info.feature_width()));
  });
  return line;
}

BenchLine Stages::prompt(std::int64_t tokens) {
  BenchLine line;
  line.stage = "prompt";
  line.size = fmt::format("{} tokens", tokens);
  line.tokens = tokens;
  time(line, [&] {
    model::Cache cache = model_.new_cache(pass_.precision);
    prefill(cache, tokens);
  });
  return line;
}

BenchLine Stages::answer(std::int64_t context) {
  model::Cache start = model_.new_cache(pass_.precision);
  prefill(start, context);
  BenchLine line;
  line.stage = "answer";
  line.size = fmt::format("after {} tokens", context);
  line.tokens = sizes_.answer;
  time(line, [&] {
    model::Cache cache = start;
    for (std::int64_t i = 0; i < sizes_.answer; ++i) {
      generate::step(model_, pass_, cache, id(context + i), logits_);
    }
  });
  return line;
}

}  // namespace

double BenchLine::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::vector<BenchLine> run_bench(const model::VisionLanguageModel& model, nn::Pass& pass,
                                 const BenchSizes& sizes,
                                 const std::function<void(const std::string& next)>& next) {
  Stages stages(model, pass, sizes);
  std::vector<BenchLine> lines;
  for (const nn::Grid& grid : sizes.pictures) {
    next(fmt::format("picture of {} patches", grid.patches()));
    lines.push_back(stages.picture(grid));
  }
  for (const std::int64_t tokens : sizes.prompts) {
    next(fmt::format("prompt of {} tokens", tokens));
    lines.push_back(stages.prompt(tokens));
  }
  for (const std::int64_t context : sizes.contexts) {
    next(fmt::format("answer after {} tokens", context));
    lines.push_back(stages.answer(context));
  }
  return lines;
}

}  // namespace sightline::audit
