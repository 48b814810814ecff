// Opening a checkpoint directory: which files, and which tensor lies in which of them
// (checkpoint.hpp).
#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/shard_index.hpp"

namespace sightline::io {
namespace {
namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";

class DirectoryCheckpoint final : public Checkpoint {
 public:
  DirectoryCheckpoint(const std::string& directory, bool use_mmap, const WeightForm& form)
      : directory_(directory), form_(form) {
    const std::string index = (fs::path(directory) / kShardIndexFile).string();
    if (has_file(index)) {
      open_shards(read_shard_index(index), index, use_mmap);
    } else if (has_file((fs::path(directory) / kSingleFile).string())) {
      add_file(kSingleFile, use_mmap);
    } else {
      throw Error(Code::missing_file,
                  fmt::format("{}: expected {} or {}, found {}", directory, kShardIndexFile,
                              kSingleFile, weight_files(directory)),
                  {{"directory", directory}});
    }
  }

  [[nodiscard]] const std::string& directory() const override { return directory_; }
  [[nodiscard]] WeightForm form() const override { return form_; }

  [[nodiscard]] std::vector<ShardInfo> shards() const override {
    std::vector<ShardInfo> infos;
    for (const auto& file : files_) {
      infos.push_back({fs::path(file->path()).filename().string(), file->bytes(),
                       static_cast<std::int64_t>(file->entries().size())});
    }
    return infos;
  }

  [[nodiscard]] std::vector<std::string_view> names() const override {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    for (const auto& [name, place] : tensors_) names.push_back(name);
    return names;
  }

  [[nodiscard]] bool contains(std::string_view name) const override {
    return tensors_.contains(name);
  }

  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    return found->second.file->tensor(*found->second.entry);
  }

 private:
  struct Place {
    const SafetensorsFile* file;
    const TensorEntry* entry;
  };

  void add_file(const std::string& name, bool use_mmap) {
    const auto& file = files_.emplace_back(
        std::make_unique<SafetensorsFile>((fs::path(directory_) / name).string(), use_mmap));
    for (const TensorEntry& entry : file->entries()) {
      const auto [at, added] = tensors_.try_emplace(entry.name, Place{file.get(), &entry});
      if (added) continue;
      const std::string first = fs::path(at->second.file->path()).filename().string();
      throw Error(Code::invalid_index,
                  fmt::format("{}: tensor {}: expected in one shard, found in {} and {}",
                              directory_, entry.name, first, name),
                  {{"directory", directory_}, {"tensor", entry.name}});
    }
  }

  void open_shards(const ShardIndex& index, const std::string& index_path, bool use_mmap) {
    for (const std::string& shard : index.shards) {
      if (!has_file((fs::path(directory_) / shard).string())) {
        throw Error(
            Code::missing_shard,
            fmt::format("{}: the index names shard {}, found no such file: download it again",
                        directory_, shard),
            {{"directory", directory_}, {"file", shard}});
      }
    }
    refuse_stray_shards(index, index_path);
    for (const std::string& shard : index.shards) add_file(shard, use_mmap);
    for (const auto& [tensor, shard] : index.files) check_listed(tensor, shard, index_path);
    for (const auto& [tensor, place] : tensors_) {
      if (index.files.contains(tensor)) continue;
      const std::string shard = fs::path(place.file->path()).filename().string();
      throw Error(Code::invalid_index,
                  fmt::format("{}: shard {} holds tensor {}, which the index does not name",
                              index_path, shard, tensor),
                  {{"file", index_path}, {"tensor", std::string(tensor)}, {"shard", shard}});
    }
  }

  void check_listed(const std::string& tensor, const std::string& shard,
                    const std::string& index_path) const {
    const auto found = tensors_.find(tensor);
    const std::string where =
        found == tensors_.end() ? "none" : fs::path(found->second.file->path()).filename().string();
    if (where == shard) return;
    throw Error(Code::invalid_index,
                fmt::format("{}: tensor {}: expected in shard {}, found {}", index_path, tensor,
                            shard, where == "none" ? "it in no shard" : "it in " + where),
                {{"file", index_path}, {"tensor", tensor}, {"shard", shard}});
  }

  // A shard on disk that the index does not name means that index and weights are not of one save.
  void refuse_stray_shards(const ShardIndex& index, const std::string& index_path) const {
    std::error_code failure;
    for (const auto& item : fs::directory_iterator(directory_, failure)) {
      const std::string name = item.path().filename().string();
      if (!is_shard_name(name) ||
          std::binary_search(index.shards.begin(), index.shards.end(), name))
        continue;
      throw Error(Code::invalid_index,
                  fmt::format("{}: the directory holds shard {}, which the index does not name: "
                              "remove it or download "
                              "the index again",
                              index_path, name),
                  {{"file", index_path}, {"shard", name}});
    }
  }

  // What lies in the directory instead, for the message.
  static std::string weight_files(const std::string& directory) {
    std::error_code failure;
    if (!fs::is_directory(directory, failure)) return "no such directory";
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(directory, failure)) {
      const std::string suffix = item.path().extension().string();
      if (suffix == ".safetensors" || suffix == ".bin" || suffix == ".gguf") {
        const char* remark = item.is_regular_file(failure) ? ""
                             : item.exists(failure)        ? " (not a file)"
                                                           : " (a link to nothing)";
        names.push_back(item.path().filename().string() + remark);
      }
    }
    if (names.empty()) return "no weights";
    std::sort(names.begin(), names.end());
    return "only " + fmt::format("{}", fmt::join(names, ", "));
  }

  std::string directory_;
  WeightForm form_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string_view, Place> tensors_;  // names are views into files_
};

}  // namespace

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& directory, bool use_mmap,
                                                   const WeightForm& form) {
  return std::make_shared<DirectoryCheckpoint>(directory, use_mmap, form);
}

}  // namespace sightline::io
