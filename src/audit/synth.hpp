// A made-up checkpoint in the published layout: random weights of a configuration, scaled so that
// activations stay finite, streamed to disk. For measurements, tests and looking at shapes; what it
// answers means nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/random_values.hpp"
#include "audit/subject.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_writer.hpp"

namespace sightline::audit {

struct SynthOptions {
  std::uint64_t seed = 0;
  std::int64_t shard_bytes = io::kShardBytes;
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

/// The configuration with its first `layers` decoder layers, and at most as many vision blocks.
/// Throws Error(invalid_option) if it has fewer layers.
io::Json cut_config(const io::Json& config, std::int64_t layers, const std::string& file);

struct SynthResult {
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  ///< in the order of writing
};

/// Writes the checkpoint: all or nothing, in a neighbouring directory that is renamed at the end.
/// `out` must not exist, or be an empty directory. Throws Error(file_unwritable), and whatever
/// `progress` throws.
SynthResult write_synth(const Subject& subject, const std::string& out, const SynthOptions& options,
                        const io::BytesWritten& progress);

}  // namespace sightline::audit
