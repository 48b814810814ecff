// Reading configurations (subject.hpp).
#include "audit/subject.hpp"

#include <fmt/format.h>

#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "io/shard_index.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

/// Whether the directory stores a head of its own; nothing if it has no weights.
std::optional<bool> stores_head(const std::string& directory) {
  const bool has_weights = io::has_file(directory + "/" + io::kShardIndexFile) ||
                           io::has_file(directory + "/model.safetensors");
  if (!has_weights) return std::nullopt;
  return io::Checkpoint::open(directory)->contains("lm_head.weight");
}

io::Json with_tied_head(const io::Json& config, bool tied) {
  io::Json changed = io::Json::object();
  for (const auto& [key, value] : config.as_object()) {
    if (key != "tie_word_embeddings") changed.add(key, value);
  }
  changed.add("tie_word_embeddings", tied);
  return changed;
}

}  // namespace

std::unique_ptr<model::VisionLanguageModel> Subject::declare() const {
  if (directory && config.is_object()) {
    const std::optional<bool> head = stores_head(*directory);
    // Which weights are packed is said by the files alone: their headers are read then.
    if (head && config.find("quantization_config") != nullptr)
      return generate::load_model(*directory, /*use_mmap=*/true);
    if (head) return generate::declare_model(with_tied_head(config, !*head), file);
  }
  return generate::declare_model(config, file);
}

Subject subject_of(const FamilyMember& member) {
  return {std::string(member.name), &member, std::nullopt, published_config(member),
          std::string(member.name)};
}

Subject subject_of_directory(const std::string& directory) {
  const std::string file = directory + "/config.json";
  if (!io::has_file(file)) {
    throw Error(Code::missing_file,
                fmt::format("{}: no such file: a checkpoint directory needs config.json", file),
                {{"file", file}});
  }
  return {directory, nullptr, directory, io::read_json_file(file, Code::invalid_config), file};
}

Subject subject_of_config(const std::string& file) {
  return {file, nullptr, std::nullopt, io::read_json_file(file, Code::invalid_config), file};
}

}  // namespace sightline::audit
