// Writing a made-up checkpoint (synth.hpp): shards in blocks, index, configuration, copied files.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "audit/synth.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;  // 2 or 4 MiB at once

void write_tensor(const SynthTensor& tensor, const io::TensorEntry& place, std::uint64_t seed,
                  io::ShardWriter& file, const std::function<void(std::int64_t)>& wrote) {
  const std::uint64_t key = random_key(seed, tensor.entry.name);
  const std::int64_t all = tensor.entry.shape.elements(), size = dtype_size(tensor.entry.dtype);
  std::vector<std::byte> block;
  for (std::int64_t first = 0; first < all; first += kBlockValues) {
    const std::int64_t count = std::min(kBlockValues, all - first);
    block.resize(static_cast<std::size_t>(count * size));
    random_values(tensor.values, key, first, count, tensor.entry.dtype, block.data());
    file.write(place, first * size, block);
    wrote(count * size);
  }
}

/// Tokenizer and processor files of `source`; the published processor's where there are none.
void write_small_files(const std::optional<std::string>& source,
                       const io::StagedDirectory& directory, std::vector<std::string>& files) {
  if (source) io::copy_small_files(*source, directory, files);
  const auto write_missing = [&](const char* name, const io::Json& json) {
    const bool newer = io::is_file(directory.path("processor_config.json"));
    if (newer || io::is_file(directory.path(name))) return;
    io::write_json_file(directory, name, json, files);
  };
  write_missing("preprocessor_config.json", published_image_processor());
  write_missing("video_preprocessor_config.json", published_video_processor());
}

void check_tokenizer(const SynthOptions& options) {
  if (!options.tokenizer) return;
  const std::string file = *options.tokenizer + "/tokenizer.json";
  if (io::is_file(file)) return;
  throw Error(
      Code::file_not_found,
      fmt::format("--tokenizer: expected a directory with tokenizer.json, found no {}", file),
      {{"file", file}});
}

}  // namespace

SynthResult write_synth(const Subject& subject, const std::string& out, const SynthOptions& options,
                        const io::BytesWritten& progress) {
  check_tokenizer(options);
  const auto model = generate::declare_model(subject.config, subject.file);
  SynthResult result;
  const std::vector<SynthTensor> tensors = synth_tensors(model->info());
  std::map<std::string_view, const SynthTensor*> by_name;
  std::vector<std::vector<io::TensorEntry>> groups;
  for (const SynthTensor& tensor : tensors) {
    ++result.tensors;
    result.parameters += tensor.entry.shape.elements();
    result.bytes += tensor.entry.bytes;
    by_name.emplace(tensor.entry.name, &tensor);
    groups.push_back({tensor.entry});
  }
  const std::vector<io::Shard> shards = io::plan_shards(groups, options.shard_bytes);
  io::StagedDirectory directory(out);
  directory.check_space(result.bytes);
  // 1. Small files first: a fault in them is known before the long work.
  io::write_json_file(directory, "config.json", subject.config, result.files);
  write_small_files(options.tokenizer ? options.tokenizer : subject.directory, directory,
                    result.files);
  // 2. Weights, and which of them lies where.
  std::int64_t done = 0;
  for (const io::Shard& shard : shards) {
    io::ShardWriter file(directory, shard);
    for (const io::TensorEntry& tensor : shard.tensors) {
      write_tensor(*by_name.at(tensor.name), tensor, options.seed, file, [&](std::int64_t bytes) {
        done += bytes;
        progress(done, result.bytes);
      });
    }
    file.finish();
    result.files.push_back(shard.file);
  }
  io::write_index(directory, shards, result.files);
  directory.commit();
  return result;
}

}  // namespace sightline::audit
