// Choice of the model family (load_model.hpp).
#include "generate/load_model.hpp"

#include <fmt/format.h>

#include <functional>

#include "io/file.hpp"
#include "io/json.hpp"
#include "qwen3_5/model.hpp"
#include "qwen3_vl/model.hpp"

namespace sightline::generate {
namespace {

using Open = std::function<std::shared_ptr<const io::Checkpoint>()>;

/// The family that `model_type` names builds its model over the checkpoint.
std::unique_ptr<model::VisionLanguageModel> build(const io::Json& json, const std::string& path,
                                                  const Open& open) {
  const std::string model_type =
      io::JsonReader(json, path, "", Code::invalid_config).at("model_type").string();
  if (model_type == "qwen3_5" || model_type == "qwen3_5_moe" || model_type == "qwen3_5_text" ||
      model_type == "qwen3_5_moe_text") {
    const qwen3_5::Config config = qwen3_5::parse_config(json, path);
    return qwen3_5::load_model(config, open());
  }
  if (model_type == "qwen3_vl" || model_type == "qwen3_vl_moe") {
    const qwen3_vl::Config config = qwen3_vl::parse_config(json, path);
    return qwen3_vl::load_model(config, open());
  }
  const std::string known =
      "\"qwen3_5\", \"qwen3_5_moe\", \"qwen3_5_text\", \"qwen3_5_moe_text\", \"qwen3_vl\", "
      "\"qwen3_vl_moe\"";
  throw Error(
      Code::unsupported_model,
      fmt::format("{}: model_type: expected one of {}, found \"{}\"", path, known, model_type),
      {{"file", path}, {"path", "model_type"}, {"expected", known}, {"found", model_type}});
}

}  // namespace

std::unique_ptr<model::VisionLanguageModel> load_model(const std::string& directory, bool use_mmap,
                                                       const io::WeightForm& form) {
  const std::string path = directory + "/config.json";
  if (!io::has_file(path)) {
    throw Error(Code::missing_file,
                fmt::format("{}: no such file: a checkpoint directory needs config.json", path),
                {{"file", path}});
  }
  return build(io::read_json_file(path, Code::invalid_config), path,
               [&] { return io::Checkpoint::open(directory, use_mmap, form); });
}

std::unique_ptr<model::VisionLanguageModel> declare_model(const io::Json& config,
                                                          const std::string& file) {
  // A tied head has no tensor of its own (specification 1.1).
  const io::Json* tied = config.find("tie_word_embeddings");
  std::vector<std::string> absent;
  if (tied != nullptr && tied->is_bool() && tied->as_bool()) absent.emplace_back("lm_head.weight");
  return build(config, file, [&] { return io::declared_checkpoint(file, absent); });
}

}  // namespace sightline::generate
