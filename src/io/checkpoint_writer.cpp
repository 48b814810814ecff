// Shards, index, small files (checkpoint_writer.hpp).
#include "io/checkpoint_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "io/shard_index.hpp"

namespace sightline::io {
namespace {

constexpr int kIndent = 2;

// What prompts are made of, in a published repository.
constexpr const char* kSmallFiles[] = {"tokenizer.json",
                                       "tokenizer_config.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "added_tokens.json",
                                       "special_tokens_map.json",
                                       "chat_template.jinja",
                                       "generation_config.json",
                                       "preprocessor_config.json",
                                       "processor_config.json",
                                       "video_preprocessor_config.json"};

std::int64_t bytes_of(const TensorEntry& tensor) {
  return tensor.shape.elements() * dtype_size(tensor.dtype);
}

/// A file alone, or the published numbering.
std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model.safetensors-{:05}-of-{:05}.safetensors", index + 1, count);
}

/// As the reference writer orders them; each gets its place.
void lay_out(std::vector<TensorEntry>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    const std::int64_t wide_a = dtype_size(a.dtype), wide_b = dtype_size(b.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
  auto begin = static_cast<std::int64_t>(safetensors_start(tensors).size());
  for (TensorEntry& tensor : tensors) {
    tensor.begin = begin;
    tensor.bytes = bytes_of(tensor);
    begin += tensor.bytes;
  }
}

}  // namespace

std::vector<Shard> plan_shards(const std::vector<std::vector<TensorEntry>>& groups,
                               std::int64_t shard_bytes) {
  std::vector<Shard> shards;
  std::int64_t filled = 0;
  for (const std::vector<TensorEntry>& group : groups) {
    std::int64_t bytes = 0;
    for (const TensorEntry& tensor : group) bytes += bytes_of(tensor);
    if (shards.empty() || filled + bytes > shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    filled += bytes;
    auto& tensors = shards.back().tensors;
    tensors.insert(tensors.end(), group.begin(), group.end());
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = shard_name(i, shards.size());
    lay_out(shards[i].tensors);
  }
  return shards;
}

ShardWriter::ShardWriter(const StagedDirectory& directory, const Shard& shard)
    : file_(directory.path(shard.file)) {
  file_.write_at(0, safetensors_start(shard.tensors));
}

void ShardWriter::write(const TensorEntry& tensor, std::int64_t offset,
                        std::span<const std::byte> bytes) {
  file_.write_at(tensor.begin + offset,
                 {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void ShardWriter::finish() { file_.commit(); }

void write_index(const StagedDirectory& directory, const std::vector<Shard>& shards,
                 std::vector<std::string>& files) {
  if (shards.size() < 2) return;
  std::int64_t total = 0;
  Json places = Json::object();
  for (const Shard& shard : shards) {
    for (const TensorEntry& tensor : shard.tensors) {
      places.add(tensor.name, shard.file);
      total += tensor.bytes;
    }
  }
  write_json_file(directory, kShardIndexFile,
                  Json::Object{{"metadata", Json::Object{{"total_size", total}}},
                               {"weight_map", std::move(places)}},
                  files);
}

void write_json_file(const StagedDirectory& directory, const std::string& name, const Json& json,
                     std::vector<std::string>& files) {
  write_file(directory.path(name), to_json_text(json, kIndent) + "\n");
  files.push_back(name);
}

void copy_small_files(const std::string& from, const StagedDirectory& directory,
                      std::vector<std::string>& files) {
  for (const char* name : kSmallFiles) {
    const std::string file = fmt::format("{}/{}", from, name);
    if (!has_file(file)) continue;
    write_file(directory.path(name), read_file(file));
    files.emplace_back(name);
  }
}

}  // namespace sightline::io
