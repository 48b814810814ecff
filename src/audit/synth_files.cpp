// Writing a made-up checkpoint (synth.hpp): shards in blocks, index, configuration, copied files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "audit/synth.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "io/shard_index.hpp"
#include "io/staged_file.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;  // 2 or 4 MiB at once
constexpr int kIndent = 2;

// What prompts are made of, in a published repository.
constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
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

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(Code::file_unwritable, fmt::format("{}: {}", path, why), {{"file", path}});
}

/// The neighbour in which everything is written; removed unless it becomes `out`.
class StagedDirectory {
 public:
  explicit StagedDirectory(const std::string& out) : out_(fs::absolute(out).lexically_normal()) {
    if (out_.filename().empty()) out_ = out_.parent_path();
    std::error_code error;
    if (fs::exists(out_, error) && !fs::is_empty(out_, error))
      fail(out, "exists and is not an empty directory: give another name, or remove it");
    path_ = fmt::format("{}.{}.part", out_.string(), ::getpid());
    fs::create_directories(out_.parent_path(), error);
    if (!fs::create_directory(path_, error))
      fail(path_.string(), fmt::format("cannot be made: {}", error.message()));
  }
  ~StagedDirectory() {
    std::error_code ignored;
    if (!committed_) fs::remove_all(path_, ignored);
  }
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  void check_space(std::int64_t bytes) const {
    std::error_code error;
    const fs::space_info space = fs::space(path_, error);
    if (error || space.available >= static_cast<std::uintmax_t>(bytes)) return;
    fail(out_.string(),
         fmt::format("expected {} free bytes for the weights, found {}", bytes, space.available));
  }
  void commit() {
    std::error_code error;
    fs::rename(path_, out_, error);
    if (error) fail(out_.string(), fmt::format("cannot be made: {}", error.message()));
    committed_ = true;
  }

 private:
  fs::path out_, path_;
  bool committed_ = false;
};

/// A file alone, or the published numbering.
std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model.safetensors-{:05}-of-{:05}.safetensors", index + 1, count);
}

void write_shard(const std::string& path, const std::vector<SynthTensor>& tensors,
                 std::uint64_t seed, const std::function<void(std::int64_t)>& wrote) {
  std::vector<io::TensorEntry> entries;
  for (const SynthTensor& tensor : tensors) entries.push_back(tensor.entry);
  io::StagedFile file(path);
  file.append(io::safetensors_start(entries));
  std::vector<std::byte> block;
  for (const SynthTensor& tensor : tensors) {
    const std::uint64_t key = random_key(seed, tensor.entry.name);
    const std::int64_t all = tensor.entry.shape.elements(), size = dtype_size(tensor.entry.dtype);
    for (std::int64_t first = 0; first < all; first += kBlockValues) {
      const std::int64_t count = std::min(kBlockValues, all - first);
      block.resize(static_cast<std::size_t>(count * size));
      random_values(tensor.values, key, first, count, tensor.entry.dtype, block.data());
      file.append({reinterpret_cast<const char*>(block.data()), block.size()});
      wrote(count * size);
    }
  }
  file.commit();
}

void write_json(const std::string& path, const io::Json& json) {
  io::write_file(path, io::to_json_text(json, kIndent) + "\n");
}

/// Tokenizer and processor files of `source`; the published processor's where there are none.
void write_small_files(const std::optional<std::string>& source, const StagedDirectory& directory,
                       std::vector<std::string>& files) {
  for (const char* name : kTokenizerFiles) {
    const std::string from = source ? *source + "/" + name : "";
    if (from.empty() || !io::is_file(from)) continue;
    io::write_file(directory.path(name), io::read_file(from));
    files.emplace_back(name);
  }
  const auto write_missing = [&](const char* name, const io::Json& json) {
    const bool newer = io::is_file(directory.path("processor_config.json"));
    if (newer || io::is_file(directory.path(name))) return;
    write_json(directory.path(name), json);
    files.emplace_back(name);
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
                        const BytesWritten& progress) {
  check_tokenizer(options);
  const auto model = generate::declare_model(subject.config, subject.file);
  SynthResult result;
  std::vector<SynthTensor> tensors = synth_tensors(model->info());
  for (const SynthTensor& tensor : tensors) {
    ++result.tensors;
    result.parameters += tensor.entry.shape.elements();
    result.bytes += tensor.entry.bytes;
  }
  const auto shards = synth_shards(std::move(tensors), options.shard_bytes);
  StagedDirectory directory(out);
  directory.check_space(result.bytes);
  // 1. Small files first: a fault in them is known before the long work.
  write_json(directory.path("config.json"), subject.config);
  result.files.emplace_back("config.json");
  write_small_files(options.tokenizer ? options.tokenizer : subject.directory, directory,
                    result.files);
  // 2. Weights, and which of them lies where.
  std::int64_t done = 0;
  io::Json places = io::Json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    write_shard(directory.path(name), shards[i], options.seed, [&](std::int64_t bytes) {
      done += bytes;
      progress(done, result.bytes);
    });
    for (const SynthTensor& tensor : shards[i]) places.add(tensor.entry.name, name);
    result.files.push_back(name);
  }
  if (shards.size() > 1) {
    write_json(directory.path(io::kShardIndexFile),
               io::Json::Object{{"metadata", io::Json::Object{{"total_size", result.bytes}}},
                                {"weight_map", std::move(places)}});
    result.files.emplace_back(io::kShardIndexFile);
  }
  directory.commit();
  return result;
}

}  // namespace sightline::audit
