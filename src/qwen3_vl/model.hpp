// Qwen3-VL behind the VisionLanguageModel interface, and how to load it.
#pragma once

#include <memory>
#include <optional>

#include "io/checkpoint.hpp"
#include "model/vision_language_model.hpp"
#include "qwen3_vl/config.hpp"
#include "qwen3_vl/text.hpp"

namespace sightline::qwen3_vl {

/// Builds the model of a checkpoint whose config.json is `config`; keeps the checkpoint alive. With
/// `range`, only these decoder layers are mapped (embeddings, vision tower and head are always
/// available). Throws Error naming file, tensor, expected and found.
std::unique_ptr<model::VisionLanguageModel> load_model(
    const Config& config, std::shared_ptr<const io::Checkpoint> checkpoint,
    std::optional<LayerRange> range = std::nullopt);

}  // namespace sightline::qwen3_vl
