// The masked merge of features into token embeddings (specification 6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/vision_language_model.hpp"

namespace sightline::model {

std::vector<FeatureRows> feature_runs(std::span<const std::int32_t> ids, std::int32_t id,
                                      ConstView features) {
  const auto placeholders = static_cast<std::int64_t>(std::count(ids.begin(), ids.end(), id));
  if (placeholders != features.rows) {
    throw Error(
        Code::placeholder_mismatch,
        fmt::format("the prompt holds {} placeholders of id {}, but there are {} feature rows",
                    placeholders, id, features.rows),
        {{"placeholders", std::to_string(placeholders)},
         {"features", std::to_string(features.rows)}});
  }
  std::vector<FeatureRows> runs;
  std::int64_t next = 0;
  for (auto begin = std::find(ids.begin(), ids.end(), id); begin != ids.end();) {
    const auto end =
        std::find_if(begin, ids.end(), [&](std::int32_t other) { return other != id; });
    runs.push_back({begin - ids.begin(), features.slice_rows(next, end - begin)});
    next += end - begin;
    begin = std::find(end, ids.end(), id);
  }
  return runs;
}

std::vector<FeatureRows> features_within(std::span<const FeatureRows> runs, std::int64_t first,
                                         std::int64_t rows) {
  std::vector<FeatureRows> parts;
  for (const FeatureRows& run : runs) {
    const std::int64_t begin = std::max(first, run.first_row);
    const std::int64_t end = std::min(first + rows, run.first_row + run.features.rows);
    if (begin < end)
      parts.push_back({begin - first, run.features.slice_rows(begin - run.first_row, end - begin)});
  }
  return parts;
}

void place_features(std::span<const FeatureRows> runs, View embeddings) {
  for (const FeatureRows& run : runs) {
    for (std::int64_t r = 0; r < run.features.rows; ++r) {
      std::memcpy(embeddings.row(run.first_row + r), run.features.row(r),
                  static_cast<std::size_t>(embeddings.cols) * sizeof(float));
    }
  }
}

void merge_features(std::span<const std::int32_t> ids, std::int32_t id, ConstView features,
                    View embeddings) {
  place_features(feature_runs(ids, id, features), embeddings);
}

}  // namespace sightline::model
