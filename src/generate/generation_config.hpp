// generation_config.json: sampling defaults and stop ids of a checkpoint (specification section 8).
// Absent: greedy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generate/sampler.hpp"

namespace sightline::generate {

struct GenerationConfig {
  SamplerOptions defaults;
  std::vector<std::int32_t> eos_token_ids;
};

/// Reads `directory`/generation_config.json if it exists. Throws Error(invalid_config).
GenerationConfig read_generation_config(const std::string& directory);

/// The request's options over the checkpoint's defaults; without a seed, a fresh one is drawn for a
/// sampled answer. Throws Error(invalid_option).
SamplerOptions settle(const Sampling& request, const SamplerOptions& defaults);

}  // namespace sightline::generate
