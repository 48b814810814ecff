// model.safetensors.index.json: which shard holds which tensor. Reads the file only; knows nothing
// of the shards.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::io {

inline constexpr const char* kShardIndexFile = "model.safetensors.index.json";

struct ShardIndex {
  std::map<std::string, std::string, std::less<>> files;  ///< tensor -> shard
  std::vector<std::string> shards;                        ///< ascending, each once
};

/// Parses the text of an index; `name` is the file for messages. A shard must be a plain file name.
/// Throws Error(invalid_index).
ShardIndex parse_shard_index(std::string_view text, const std::string& name);

/// Reads and parses an index. Throws Error(file_not_found, file_unreadable, invalid_index).
ShardIndex read_shard_index(const std::string& path);

/// True for the names that published shards have: model-00001-of-00002.safetensors, and the
/// published single shard model.safetensors-00001-of-00001.safetensors.
bool is_shard_name(std::string_view name);

}  // namespace sightline::io
