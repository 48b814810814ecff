// Writing a checkpoint directory in the published layout, in bounded memory: one file of weights,
// or shards with an index; the small files that go with them. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "io/safetensors.hpp"
#include "io/staged_directory.hpp"
#include "io/staged_file.hpp"

namespace sightline::io {

/// Above this the published repositories cut their weights into shards, decimal as there (the limit
/// of transformers' save_pretrained: "5GB").
inline constexpr std::int64_t kShardBytes = 5'000'000'000;

/// Called with bytes written and bytes in all; may throw to give up.
using BytesWritten = std::function<void(std::int64_t done, std::int64_t all)>;

/// A file of weights to be written.
struct Shard {
  std::string file;                  ///< its name
  std::vector<TensorEntry> tensors;  ///< in the order of their bytes; `begin` and `bytes` are set

  /// Of the whole file.
  [[nodiscard]] std::int64_t bytes() const {
    return tensors.empty() ? 0 : tensors.back().begin + tensors.back().bytes;
  }
};

/// Consecutive groups of tensors, as many in each shard as fit `shard_bytes` (at least one group).
/// Within a shard wider elements come first, so that all are aligned; then the order is by name.
std::vector<Shard> plan_shards(const std::vector<std::vector<TensorEntry>>& groups,
                               std::int64_t shard_bytes);

/// One shard. Its tensors may be written in any order, piece by piece; all bytes are to be written.
class ShardWriter {
 public:
  /// Writes the header. Throws Error(file_unwritable), as the others do.
  ShardWriter(const StagedDirectory& directory, const Shard& shard);
  /// Bytes of a tensor of this shard, from `offset` within it.
  void write(const TensorEntry& tensor, std::int64_t offset, std::span<const std::byte> bytes);
  void finish();

 private:
  StagedFile file_;
};

/// Writes model.safetensors.index.json if there is more than one shard. `files` gets the names of
/// all files written here and below.
void write_index(const StagedDirectory& directory, const std::vector<Shard>& shards,
                 std::vector<std::string>& files);

/// Writes a JSON file as published ones look, indented.
void write_json_file(const StagedDirectory& directory, const std::string& name, const Json& json,
                     std::vector<std::string>& files);

/// Copies what prompts are made of from another checkpoint directory: tokenizer, template,
/// processor, generation_config. Throws Error(file_unreadable, file_unwritable).
void copy_small_files(const std::string& from, const StagedDirectory& directory,
                      std::vector<std::string>& files);

}  // namespace sightline::io
