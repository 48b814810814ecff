// Prefill from snapshots, piece by piece, and decoding steps (conversation.hpp).
#include "generate/conversation.hpp"

#include <algorithm>
#include <cstring>

#include "generate/clock.hpp"
#include "generate/step.hpp"
#include "kernels/delta_rule.hpp"

namespace sightline::generate {
namespace {

// A state resumes bit for bit only at multiples of the delta rule's chunk.
constexpr std::int64_t kStateGrid = kernels::kDeltaChunk;
// Snapshots kept: each copies convolution and recurrent state (18.6 MiB for the 2B model).
constexpr std::size_t kMaxSnapshots = 6;

std::int64_t on_grid(std::int64_t position) { return position / kStateGrid * kStateGrid; }

nn::Pass make_pass(const RunContext& run) {
  nn::Pass pass(*run.engine.kernels, *run.engine.threads, run.engine.arena);
  pass.precision = run.engine.precision;
  pass.trace = run.trace;
  pass.cancel = &run.cancelled;
  return pass;
}

nn::Grid model_grid(const image::Grid& grid) { return {grid.t, grid.h, grid.w}; }

// Groups of a video that go through the tower together: as many as fill about this many patches.
// Bounds the pixel values that exist at once (12 MiB at 1536 values a patch).
constexpr std::int64_t kPatchesAtOnce = 2048;

// Pixel values of one picture or video, ready for the tower.
std::vector<float> pixel_values(const RunContext& run, const PromptPicture& picture) {
  const image::ProcessorConfig& config =
      picture.is_video() ? picture.clip->config() : run.engine.prompts->processor();
  std::vector<float> values(
      static_cast<std::size_t>(picture.picture.grid.patches() * config.row_floats()));
  if (picture.is_video()) {
    picture.clip->write_pixel_values(0, picture.clip->groups(), values);
  } else {
    image::write_pixel_values(picture.picture, config, values);
  }
  return values;
}

void take_notes(const PromptPicture& picture, PictureReport& report) {
  if (!picture.is_video()) return;
  for (std::string& note : picture.clip->take_notes()) report.notes.push_back(std::move(note));
}

// Where the encoding of a request's pictures stands, for progress.
struct EncodeProgress {
  const RunContext& run;
  std::int64_t done = 0, total = 0;

  void add(std::int64_t count) {
    done += count;
    if (run.on_progress) run.on_progress({Progress::Stage::picture, done, total});
  }
};

void encode(const RunContext& run, std::span<const float> values, const nn::Grid& grid,
            View features) {
  const model::VisualInput input{
      {values.data(), grid.patches(), run.engine.model->info().patch_values}, grid};
  nn::Pass pass = make_pass(run);
  run.engine.model->encode(pass, {&input, 1}, features);
}

// A few groups of frames are decoded, cut and encoded at a time; their features have the same bits
// as if all were encoded together, since nothing in the tower looks across groups.
void encode_clip(const RunContext& run, video::Clip& clip, View features,
                 EncodeProgress& progress) {
  const std::int64_t patches = clip.patches_per_group(), groups = clip.groups();
  const std::int64_t at_once = std::clamp<std::int64_t>(kPatchesAtOnce / patches, 1, groups);
  const std::int64_t tokens = clip.tokens() / groups;
  std::vector<float> values(
      static_cast<std::size_t>(at_once * patches * clip.config().row_floats()));
  for (std::int64_t first = 0; first < groups; first += at_once) {
    if (run.cancelled.load()) throw Error(Code::cancelled, "cancelled");
    const std::int64_t count = std::min(at_once, groups - first);
    const std::span part(values.data(),
                         static_cast<std::size_t>(count * patches * clip.config().row_floats()));
    clip.write_pixel_values(first, count, part);
    encode(run, part, {count, clip.grid().h, clip.grid().w},
           features.slice_rows(first * tokens, count * tokens));
    progress.add(count);
  }
}

// Features of one picture or video: from the store, or from the tower.
Features features_of(const RunContext& run, const PromptPicture& picture, PictureReport& report,
                     EncodeProgress& progress) {
  const std::int64_t units = picture.is_video() ? picture.clip->groups() : 1;
  if (Features known = run.engine.features.find(picture.picture.hash)) {
    progress.add(units);
    return known;
  }
  const Stopwatch clock;
  const std::int64_t width = run.engine.model->info().feature_width();
  auto features = std::make_shared<std::vector<float>>(
      static_cast<std::size_t>(picture.picture.tokens * width));
  const View rows{features->data(), picture.picture.tokens, width};
  if (picture.is_video()) {
    encode_clip(run, *picture.clip, rows, progress);
    take_notes(picture, report);
  } else {
    encode(run, pixel_values(run, picture), model_grid(picture.picture.grid), rows);
    progress.add(units);
  }
  report.encoded = true;
  report.encode_ms = clock.ms();
  run.engine.features.insert(picture.picture.hash, features);
  return features;
}

void report_progress(const RunContext& run, Progress::Stage stage, std::int64_t done,
                     std::int64_t total) {
  if (run.on_progress) run.on_progress({stage, done, total});
}

// Where the prompt holds the features that are still needed; views into `features`.
std::vector<model::FeatureRows> feature_rows(const RunContext& run, const Prompt& prompt,
                                             const std::vector<Features>& features) {
  std::vector<model::FeatureRows> rows;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const PromptPicture& picture = prompt.pictures[i];
    if (features[i] == nullptr) continue;
    const ConstView all{features[i]->data(), picture.picture.tokens,
                        run.engine.model->info().feature_width()};
    std::int64_t next = 0;
    for (const PlaceholderRun& placeholders : picture.runs) {
      rows.push_back({placeholders.first_token, all.slice_rows(next, placeholders.tokens)});
      next += placeholders.tokens;
    }
  }
  return rows;
}

// Features of all pictures that reach beyond `start`; the others are part of the restored state.
std::vector<Features> encode_pictures(const RunContext& run, const Prompt& prompt,
                                      std::int64_t start, Result& result) {
  std::vector<Features> all(prompt.pictures.size());
  EncodeProgress progress{run};
  for (const PromptPicture& picture : prompt.pictures) {
    if (picture.end_token() > start)
      progress.total += picture.is_video() ? picture.clip->groups() : 1;
  }
  if (progress.total > 0) progress.add(0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PromptPicture& picture = prompt.pictures[i];
    if (picture.end_token() <= start) continue;
    all[i] = features_of(run, picture, result.pictures[i], progress);
    result.timings.encode_ms += result.pictures[i].encode_ms;
  }
  return all;
}

}  // namespace

Conversation::Key Conversation::key_of(const Prompt& prompt) {
  Key key{prompt.ids, {}};
  for (const PromptPicture& picture : prompt.pictures)
    key.pictures.push_back({picture.first_token, picture.picture.hash});
  return key;
}

std::int64_t Conversation::common_prefix(const Key& a, const Key& b) {
  const auto [x, y] = std::mismatch(a.ids.begin(), a.ids.end(), b.ids.begin(), b.ids.end());
  std::int64_t length = x - a.ids.begin();
  // Placeholders of different pictures look alike: the prefix ends where their content differs.
  for (std::size_t i = 0; i < std::min(a.pictures.size(), b.pictures.size()); ++i) {
    const bool same = a.pictures[i].first_token == b.pictures[i].first_token &&
                      a.pictures[i].hash == b.pictures[i].hash;
    if (!same) length = std::min({length, a.pictures[i].first_token, b.pictures[i].first_token});
  }
  return length;
}

// Makes the best snapshot the live state and forgets those that do not fit; returns the position to
// go on from.
std::int64_t Conversation::restore(const RunContext& run, const Prompt& prompt) {
  Key key = key_of(prompt);
  // The last row must be computed, for its logits.
  const std::int64_t usable = std::min(common_prefix(key_, key), prompt.tokens() - 1);
  std::erase_if(snapshots_, [&](const model::Cache& cache) { return cache.length > usable; });
  key_ = std::move(key);
  live_ =
      snapshots_.empty() ? run.engine.model->new_cache(run.engine.precision) : snapshots_.back();
  return live_.length;
}

// Pieces end at multiples of the chunk, at wanted snapshots, and at the end of the prompt.
std::vector<std::int64_t> Conversation::piece_ends(const RunContext& run, const Prompt& prompt,
                                                   std::int64_t start,
                                                   std::vector<std::int64_t>& snapshots) const {
  // Where a later prompt is likely to part from this one: after a picture (another question about
  // it), and before the generation prompt (the next turn rewrites the reply).
  for (const PromptPicture& picture : prompt.pictures)
    snapshots.push_back(on_grid(picture.end_token()));
  snapshots.push_back(on_grid(prompt.generation_start));
  std::sort(snapshots.begin(), snapshots.end());
  snapshots.erase(std::unique(snapshots.begin(), snapshots.end()), snapshots.end());
  std::erase_if(snapshots, [&](std::int64_t p) { return p <= start || p >= prompt.tokens(); });
  if (snapshots.size() > kMaxSnapshots)
    snapshots.erase(snapshots.begin(), snapshots.end() - kMaxSnapshots);
  std::vector<std::int64_t> ends = snapshots;
  const std::int64_t chunk = run.engine.options.prefill_chunk;
  for (std::int64_t end = (start / chunk + 1) * chunk; end < prompt.tokens(); end += chunk)
    ends.push_back(end);
  ends.push_back(prompt.tokens());
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

void Conversation::keep_snapshot() {
  snapshots_.push_back(live_);
  if (snapshots_.size() > kMaxSnapshots) snapshots_.erase(snapshots_.begin());
}

void Conversation::run_whole(const RunContext& run, const Prompt& prompt, Result& result,
                             std::span<float> logits) {
  clear();
  live_ = run.engine.model->new_cache(run.engine.precision);
  std::vector<std::vector<float>> pixels;
  std::vector<model::VisualInput> images, videos;
  for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
    const PromptPicture& picture = prompt.pictures[i];
    pixels.push_back(pixel_values(run, picture));
    (picture.is_video() ? videos : images)
        .push_back({{pixels.back().data(), picture.picture.grid.patches(),
                     run.engine.model->info().patch_values},
                    model_grid(picture.picture.grid)});
    take_notes(picture, result.pictures[i]);
    result.pictures[i].encoded = true;
  }
  const std::int64_t vocabulary = run.engine.model->info().vocab_size;
  nn::Pass pass = make_pass(run);
  const ArenaScope scope(pass.arena);
  model::WholePrompt whole{prompt.ids, images, videos, &prompt.positions};
  const std::int64_t rows = std::min(prompt.tokens(), model::kMaxWholeRows);
  const View all = pass.arena.matrix(rows, vocabulary);
  run.engine.model->whole(pass, whole, live_, all);
  std::memcpy(logits.data(), all.row(all.rows - 1), logits.size_bytes());
}

void Conversation::prefill(const RunContext& run, const Prompt& prompt, Result& result,
                           std::span<float> logits) {
  const std::lock_guard lock(run.engine.compute);
  if (run.trace != nullptr) {
    const Stopwatch clock;
    run_whole(run, prompt, result, logits);
    result.timings.prefill_ms = clock.ms();
  } else {
    const std::int64_t start = restore(run, prompt);
    result.cached_tokens = start;
    const std::vector<Features> features = encode_pictures(run, prompt, start, result);
    const std::vector<model::FeatureRows> pictures = feature_rows(run, prompt, features);
    const Stopwatch clock;
    std::vector<std::int64_t> snapshots;
    const std::vector<std::int64_t> ends = piece_ends(run, prompt, start, snapshots);
    const std::int64_t last_row_logits = static_cast<std::int64_t>(logits.size());
    for (const std::int64_t end : ends) {
      report_progress(run, Progress::Stage::prompt, live_.length, prompt.tokens());
      nn::Pass pass = make_pass(run);
      const ArenaScope scope(pass.arena);
      const std::int64_t first = live_.length, rows = end - first, last_row = rows - 1;
      const View embeds = pass.arena.matrix(rows, run.engine.model->info().hidden_size);
      run.engine.model->embed(
          pass,
          std::span(prompt.ids)
              .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
          embeds);
      const auto here = model::features_within(pictures, first, rows);
      model::place_features(here, embeds);
      model::Segment segment{
          &live_, 0, rows, &prompt.positions, first, model::RowKind::prompt, {}, nullptr, here};
      model::ForwardResult out;
      if (end == prompt.tokens()) {
        segment.wanted = {&last_row, 1};
        out.logits = {logits.data(), 1, last_row_logits};
      }
      run.engine.model->forward(pass, embeds, {&segment, 1}, out);
      if (std::binary_search(snapshots.begin(), snapshots.end(), end)) keep_snapshot();
    }
    report_progress(run, Progress::Stage::prompt, prompt.tokens(), prompt.tokens());
    result.timings.prefill_ms = clock.ms();
  }
  live_.rope_delta = prompt.rope_delta;
}

bool Conversation::step(const RunContext& run, std::int32_t id, std::span<float> logits) {
  const std::lock_guard lock(run.engine.compute);
  nn::Pass pass = make_pass(run);
  try {
    generate::step(*run.engine.model, pass, live_, id, logits);
  } catch (const Error& error) {
    if (error.code() != Code::cancelled) throw;
    return false;
  }
  return true;
}

void Conversation::clear() {
  key_ = {};
  snapshots_.clear();
  live_ = {};
}

}  // namespace sightline::generate
