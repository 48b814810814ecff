// A made-up checkpoint in the published layout: random weights of a configuration, scaled so that
// activations stay finite, streamed to disk. For measurements, tests and looking at shapes; what it
// answers means nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/random_values.hpp"
#include "audit/subject.hpp"
#include "io/checkpoint.hpp"

namespace sightline::audit {

/// Above this the published repositories cut their weights into shards, decimal as there (the limit
/// of transformers' save_pretrained: "5GB").
inline constexpr std::int64_t kShardBytes = 5'000'000'000;

struct SynthOptions {
  std::uint64_t seed = 0;
  std::int64_t shard_bytes = kShardBytes;
  std::optional<std::string> tokenizer;  ///< directory whose tokenizer and processor files to copy;
                                         ///< must hold a tokenizer. Default: what the subject has
};

/// A tensor to be written.
struct SynthTensor {
  io::TensorEntry entry;
  Distribution values;
};

/// All tensors of a declared model, its mtp.* ones included, in the model's order. Matrices are
/// normal with standard deviation 1 / sqrt(fan-in); norms near what leaves their input alone;
/// dt_bias and A_log in the range that trained models start from.
std::vector<SynthTensor> synth_tensors(const model::ModelInfo& info);

/// Consecutive tensors, as many in each part as fit `shard_bytes` (at least one).
std::vector<std::vector<SynthTensor>> synth_shards(std::vector<SynthTensor> tensors,
                                                   std::int64_t shard_bytes);

/// The configuration with its first `layers` decoder layers, and at most as many vision blocks.
/// Throws Error(invalid_option) if it has fewer layers.
io::Json cut_config(const io::Json& config, std::int64_t layers, const std::string& file);

/// Called with bytes written and bytes in all; may throw to give up.
using BytesWritten = std::function<void(std::int64_t done, std::int64_t all)>;

struct SynthResult {
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  ///< in the order of writing
};

/// Writes the checkpoint: all or nothing, in a neighbouring directory that is renamed at the end.
/// `out` must not exist, or be an empty directory. Throws Error(file_unwritable), and whatever
/// `progress` throws.
SynthResult write_synth(const Subject& subject, const std::string& out, const SynthOptions& options,
                        const BytesWritten& progress);

}  // namespace sightline::audit
