// The stages and their clock (bench.hpp).
#include "audit/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <variant>

#include "audit/random_values.hpp"
#include "base/arena.hpp"
#include "generate/step.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPiece = 512;  // EngineOptions::prefill_chunk by default

/// The amount of work that makes weights and scratch resident before the clock starts.
constexpr std::int64_t kWarmPatches = 32;  // on a side
constexpr std::int64_t kWarmTokens = 64;

/// Numbers in [-1, 1), the same in every run.
void make_up(float* values, std::int64_t count) {
  random_values({Distribution::Kind::uniform, 0, 1}, random_key(0, "bench"), 0, count, DType::f32,
                reinterpret_cast<std::byte*>(values));
}

std::int64_t merged_tokens(const model::ModelInfo& info, const nn::Grid& grid) {
  return grid.patches() / (info.spatial_merge_size * info.spatial_merge_size);
}

class Stages {
 public:
  Stages(const model::VisionLanguageModel& model, nn::Pass& pass, const BenchSizes& sizes,
         const BenchListener& listener)
      : model_(model),
        pass_(pass),
        sizes_(sizes),
        listener_(listener),
        logits_(static_cast<std::size_t>(model.info().vocab_size)) {}

  void picture(const nn::Grid& grid);
  void prompt(std::int64_t tokens);
  void answer(std::int64_t context);

 private:
  template <class Run>
  void time(BenchLine line, const std::string& what, const Run& run);
  void encode(const nn::Grid& grid, const std::vector<float>& pixels);
  [[nodiscard]] std::int32_t id(std::int64_t i) const;
  void prefill(model::Cache& cache, std::int64_t tokens);

  const model::VisionLanguageModel& model_;
  nn::Pass& pass_;
  const BenchSizes& sizes_;
  const BenchListener& listener_;
  std::vector<float> logits_;
};

/// Times and hands over `line`; the first run also counts its work.
template <class Run>
void Stages::time(BenchLine line, const std::string& what, const Run& run) {
  kernels::Tally tally;
  try {
    for (std::int64_t i = 0; i < sizes_.runs; ++i) {
      listener_.begins(fmt::format("{}, run {} of {}", what, i + 1, sizes_.runs));
      pass_.tally = i == 0 ? &tally : nullptr;
      const Clock::time_point start = Clock::now();
      run();
      line.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      line.work = tally.work;
    }
  } catch (const Error& error) {
    pass_.tally = nullptr;
    if (error.code() == Code::cancelled && !line.seconds.empty()) listener_.measured(line);
    throw;
  }
  pass_.tally = nullptr;
  listener_.measured(line);
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

void Stages::encode(const nn::Grid& grid, const std::vector<float>& pixels) {
  const model::ModelInfo& info = model_.info();
  const ArenaScope scope(pass_.arena);
  const model::VisualInput visual{{pixels.data(), grid.patches(), info.patch_values}, grid};
  model_.encode(pass_, {&visual, 1},
                pass_.arena.matrix(merged_tokens(info, grid), info.feature_width()));
}

void Stages::picture(const nn::Grid& grid) {
  const model::ModelInfo& info = model_.info();
  std::vector<float> pixels(static_cast<std::size_t>(grid.patches() * info.patch_values));
  make_up(pixels.data(), static_cast<std::int64_t>(pixels.size()));
  BenchLine line;
  line.stage = "picture";
  line.size = fmt::format("{}x{}", grid.w * info.patch_size, grid.h * info.patch_size);
  line.tokens = merged_tokens(info, grid);
  listener_.begins("the vision tower");
  const std::int64_t side = kWarmPatches / info.spatial_merge_size * info.spatial_merge_size;
  encode({1, std::min(grid.h, side), std::min(grid.w, side)}, pixels);
  time(line, fmt::format("picture of {}", line.size), [&] { encode(grid, pixels); });
}

void Stages::prompt(std::int64_t tokens) {
  BenchLine line;
  line.stage = "prompt";
  line.size = fmt::format("{} tokens", tokens);
  line.tokens = tokens;
  const auto run = [&](std::int64_t count) {
    model::Cache cache = model_.new_cache(pass_.precision);
    prefill(cache, count);
  };
  listener_.begins("the language model");
  run(std::min(tokens, kWarmTokens));
  time(line, fmt::format("prompt of {}", line.size), [&] { run(tokens); });
}

void Stages::answer(std::int64_t context) {
  const model::Cache start = made_up_cache(model_, pass_, context);
  BenchLine line;
  line.stage = "answer";
  line.size = fmt::format("after {} tokens", context);
  line.tokens = sizes_.answer;
  const auto run = [&](std::int64_t tokens) {
    model::Cache cache = start;
    for (std::int64_t i = 0; i < tokens; ++i)
      generate::step(model_, pass_, cache, id(context + i), logits_);
  };
  listener_.begins("the language model");
  run(1);
  time(line, fmt::format("answer {}", line.size), [&] { run(sizes_.answer); });
}

}  // namespace

double BenchLine::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

model::Cache made_up_cache(const model::VisionLanguageModel& model, nn::Pass& pass,
                           std::int64_t tokens) {
  model::Cache cache = model.new_cache(pass.precision);
  for (auto& layer : cache.layers) {
    if (auto* delta = std::get_if<model::DeltaLayer>(&layer)) {
      delta->prepare();
      make_up(delta->conv.data(), delta->conv_values);
      make_up(delta->recurrent.data(), delta->recurrent_values);
      continue;
    }
    auto& kv = std::get<model::KvLayer>(layer);
    const ArenaScope scope(pass.arena);
    const View rows = pass.arena.matrix(std::min(kPiece, tokens), kv.width());
    make_up(rows.data, rows.rows * rows.cols);
    for (std::int64_t first = 0; first < tokens; first += kPiece) {
      const View part = rows.slice_rows(0, std::min(kPiece, tokens - first));
      kv.append(pass, part, part);
    }
  }
  cache.length = tokens;
  return cache;
}

bool run_bench(const model::VisionLanguageModel& model, nn::Pass& pass, const BenchSizes& sizes,
               const BenchListener& listener) {
  Stages stages(model, pass, sizes, listener);
  try {
    for (const nn::Grid& grid : sizes.pictures) stages.picture(grid);
    for (const std::int64_t tokens : sizes.prompts) stages.prompt(tokens);
    for (const std::int64_t context : sizes.contexts) stages.answer(context);
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) return false;
    throw;
  }
  return true;
}

}  // namespace sightline::audit
