// The masked merge of features into token embeddings (specification 6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/vision_language_model.hpp"

namespace sightline::model {

void merge_features(std::span<const std::int32_t> ids, std::int32_t id, ConstView features,
                    View embeddings) {
  const auto placeholders = static_cast<std::int64_t>(std::count(ids.begin(), ids.end(), id));
  if (placeholders != features.rows) {
    throw Error(
        Code::placeholder_mismatch,
        fmt::format("the prompt holds {} placeholders of id {}, but there are {} feature rows",
                    placeholders, id, features.rows),
        {{"placeholders", std::to_string(placeholders)},
         {"features", std::to_string(features.rows)}});
  }
  std::int64_t next = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != id) continue;
    std::memcpy(embeddings.row(static_cast<std::int64_t>(i)), features.row(next++),
                static_cast<std::size_t>(features.cols) * sizeof(float));
  }
}

}  // namespace sightline::model
