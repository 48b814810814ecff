// Choice of the model family (load_model.hpp).
#include "generate/load_model.hpp"

#include <fmt/format.h>

#include "io/file.hpp"
#include "io/json.hpp"
#include "qwen3_5/model.hpp"

namespace sightline::generate {

std::unique_ptr<model::VisionLanguageModel> load_model(const std::string& directory,
                                                       bool use_mmap) {
  const std::string path = directory + "/config.json";
  if (!io::is_file(path)) {
    throw Error(Code::missing_file,
                fmt::format("{}: no such file: a checkpoint directory needs config.json", path),
                {{"file", path}});
  }
  const io::Json json = io::read_json_file(path, Code::invalid_config);
  const std::string model_type =
      io::JsonReader(json, path, "", Code::invalid_config).at("model_type").string();
  if (model_type == "qwen3_5") {
    const qwen3_5::Config config = qwen3_5::parse_config(json, path);
    return qwen3_5::load_model(config, io::Checkpoint::open(directory, use_mmap));
  }
  throw Error(
      Code::unsupported_model,
      fmt::format("{}: model_type: expected one of \"qwen3_5\", found \"{}\"", path, model_type),
      {{"file", path}, {"path", "model_type"}, {"expected", "qwen3_5"}, {"found", model_type}});
}

}  // namespace sightline::generate
