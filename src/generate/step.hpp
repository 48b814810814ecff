// One generated token through the model: what sessions and parity runs share.
#pragma once

#include <cstdint>
#include <span>

#include "model/vision_language_model.hpp"

namespace sightline::generate {

/// Feeds `id` after what `cache` holds (its position is length + rope_delta on all axes,
/// specification 6.2) and writes the logits of the next token (vocab_size). Throws
/// Error(cancelled); the cache is then unusable.
void step(const model::VisionLanguageModel& model, nn::Pass& pass, model::Cache& cache,
          std::int32_t id, std::span<float> logits);

}  // namespace sightline::generate
