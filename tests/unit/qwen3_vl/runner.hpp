// Shared ground of the Qwen3-VL tests: the small reference checkpoints, prompts with made-up
// pictures, and a runner that cuts a prompt into pieces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "model/positions.hpp"
#include "qwen3_vl/model.hpp"

namespace sightline::qwen3_vl {

inline std::string directory_of(const std::string& name) {
  return std::string(SIGHTLINE_TEST_DATA) + "/models/" + name;
}

inline std::unique_ptr<model::VisionLanguageModel> load_from(
    const std::string& directory, std::optional<LayerRange> range = std::nullopt) {
  const io::Json json = io::read_json_file(directory + "/config.json");
  return load_model(parse_config(json, "config.json"), io::Checkpoint::open(directory), range);
}

/// A reference checkpoint, loaded once.
inline const model::VisionLanguageModel& loaded(const std::string& name) {
  static std::map<std::string, std::unique_ptr<model::VisionLanguageModel>> models;
  auto& model = models[name];
  if (!model) model = load_from(directory_of(name));
  return *model;
}

inline std::vector<const char*> available_sets() {
  std::vector<const char*> names;
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    if (set.available && !set.twin) names.push_back(set.name.data());
  }
  return names;
}

/// A picture of noise.
struct TestPicture {
  TestPicture(nn::Grid grid_, unsigned salt) : grid(grid_) {
    constexpr std::int64_t kPatchValues = 1536;
    unsigned state = salt * 2654435761U + 1;
    for (std::int64_t i = 0; i < grid.patches() * kPatchValues; ++i) {
      state = state * 1664525U + 1013904223U;
      values.push_back(static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1.0F);
    }
  }
  [[nodiscard]] model::VisualInput input() const {
    return {
        {values.data(), grid.patches(), static_cast<std::int64_t>(values.size()) / grid.patches()},
        grid};
  }
  [[nodiscard]] std::int64_t tokens() const { return grid.patches() / 4; }

  nn::Grid grid;
  std::vector<float> values;
};

/// Text before, pictures with text between, text after.
struct TestPrompt {
  TestPrompt(const model::ModelInfo& info, std::vector<TestPicture> pictures_,
             std::int64_t text_between)
      : pictures(std::move(pictures_)) {
    std::vector<nn::Grid> grids;
    const auto text = [&] {
      for (std::int64_t i = 0; i < text_between; ++i)
        ids.push_back(static_cast<std::int32_t>((ids.size() * 37 + 5) % 480));
    };
    text();
    for (const TestPicture& picture : pictures) {
      ids.insert(ids.end(), static_cast<std::size_t>(picture.tokens()), info.image_token_id);
      grids.push_back(picture.grid);
      text();
    }
    const auto types = model::token_types(ids, info.image_token_id, info.video_token_id);
    model::append_positions(types, grids, {}, info.spatial_merge_size, 0, positions);
  }
  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }

  std::vector<TestPicture> pictures;
  std::vector<std::int32_t> ids;
  nn::Positions positions;
};

class Runner {
 public:
  explicit Runner(const model::VisionLanguageModel& model, int threads = 1,
                  const char* isa = "reference", nn::Precision precision = nn::Precision::f32)
      : model_(model), threads_(threads), pass_(kernels::select(isa), threads_, arena_) {
    pass_.precision = precision;
  }

  /// Features of all pictures, each encoded alone: (Σ tokens, feature_width).
  std::vector<float> encode(const TestPrompt& prompt) {
    std::vector<float> all;
    for (const TestPicture& picture : prompt.pictures) {
      const model::VisualInput input = picture.input();
      std::vector<float> one(
          static_cast<std::size_t>(picture.tokens() * model_.info().feature_width()));
      model_.encode(pass_, {&input, 1},
                    {one.data(), picture.tokens(), model_.info().feature_width()});
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  /// Rows [first, first + rows) of a prompt with these features; logits of the last row, or of all
  /// step rows.
  std::vector<float> run(model::Cache& cache, const TestPrompt& prompt,
                         const std::vector<float>& features, std::int64_t first, std::int64_t rows,
                         model::RowKind kind = model::RowKind::prompt,
                         model::StepRecord* record = nullptr) {
    std::vector<std::int64_t> wanted;
    for (std::int64_t r = kind == model::RowKind::step ? 0 : rows - 1; r < rows; ++r)
      wanted.push_back(r);
    const ArenaScope scope(arena_);
    const View embeds = arena_.matrix(rows, model_.info().hidden_size);
    model_.embed(pass_,
                 std::span(prompt.ids)
                     .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
                 embeds);
    const std::int64_t width = model_.info().feature_width();
    const auto runs = model::feature_runs(
        prompt.ids, model_.info().image_token_id,
        {features.data(), static_cast<std::int64_t>(features.size()) / width, width});
    const auto here = model::features_within(runs, first, rows);
    model::place_features(here, embeds);
    const model::Segment segment{&cache, 0,      rows, &prompt.positions, first, kind,
                                 wanted, record, here};
    std::vector<float> logits(wanted.size() * static_cast<std::size_t>(model_.info().vocab_size));
    model_.forward(
        pass_, embeds, {&segment, 1},
        {{logits.data(), static_cast<std::int64_t>(wanted.size()), model_.info().vocab_size}, {}});
    return logits;
  }

  /// The whole prompt in pieces; logits of its last row.
  std::vector<float> prompt_logits(const TestPrompt& prompt, const std::vector<float>& features,
                                   std::int64_t piece,
                                   nn::Precision precision = nn::Precision::f32) {
    model::Cache cache = model_.new_cache(precision);
    std::vector<float> logits;
    for (std::int64_t first = 0; first < prompt.tokens(); first += piece) {
      logits = run(cache, prompt, features, first, std::min(piece, prompt.tokens() - first));
    }
    return logits;
  }

  /// Several pictures in one call of encode.
  void model_encode(std::span<const model::VisualInput> inputs, std::vector<float>& features) {
    const std::int64_t width = model_.info().feature_width();
    model_.encode(pass_, inputs,
                  {features.data(), static_cast<std::int64_t>(features.size()) / width, width});
  }

  nn::Pass& pass() { return pass_; }
  Arena& arena() { return arena_; }

 private:
  const model::VisionLanguageModel& model_;
  Threads threads_;
  Arena arena_;
  nn::Pass pass_;
};

/// Greatest difference, as a share of the greatest |expected|.
inline float relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  float greatest = 0, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    greatest = std::max(greatest, std::abs(expected[i]));
    error = std::max(error, std::abs(found[i] - expected[i]));
  }
  return error / greatest;
}

}  // namespace sightline::qwen3_vl
