// Causal attention of one segment over its own cache: what every full-attention layer does between
// its rotation and its output projection.
#pragma once

#include <cstddef>

#include "kernels/attention.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::model {

/// The rows of one segment.
struct AttentionRows {
  ConstView query;       ///< (rows, heads · head_dim)
  ConstView key, value;  ///< (rows, kv_heads · head_dim)
  View mixed;            ///< the result, as query
};

/// Appends keys and values to Cache::layers[layer], or, for recorded step rows,
/// leaves the cache as it is and writes StepRecord::layers[layer] (a: keys, b: values).
void attend(nn::Pass& pass, const kernels::AttentionShape& shape, const Segment& segment,
            std::size_t layer, const AttentionRows& rows);

/// Appends the first `rows` recorded rows of a full-attention layer to its keys and values.
void commit_rows(nn::Pass& pass, const StepRecord::Layer& record, std::int64_t recorded,
                 std::int64_t rows, KvLayer& layer);

}  // namespace sightline::model
