// What an engine holds once a checkpoint is loaded, shared by its sessions. Internal to generate/.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/arena.hpp"
#include "base/threads.hpp"
#include "generate/feature_store.hpp"
#include "generate/generation_config.hpp"
#include "generate/prompt.hpp"
#include "kernels/kernels.hpp"
#include "model/vision_language_model.hpp"
#include "sightline/engine.hpp"

namespace sightline {

struct Engine::Impl {
  explicit Impl(EngineOptions chosen)
      : options(std::move(chosen)), features(options.feature_store_bytes) {}

  EngineOptions options;
  EngineInfo info;
  double load_ms = 0;
  const kernels::Kernels* kernels = nullptr;
  nn::Precision precision = nn::Precision::bf16;
  std::unique_ptr<model::VisionLanguageModel> model;
  std::unique_ptr<generate::PromptBuilder> prompts;
  generate::GenerationConfig generation;
  generate::FeatureStore features;
  std::vector<std::uint64_t> vocabulary_mask;  ///< bit set for every id that the tokenizer knows

  std::vector<std::int32_t> end_ids;  ///< any of them ends an answer

  // One pass runs at a time: whoever computes holds the mutex. Sessions take turns between tokens.
  std::mutex compute;
  std::unique_ptr<Threads> threads;
  Arena arena;
};

}  // namespace sightline
