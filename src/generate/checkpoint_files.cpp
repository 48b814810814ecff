// Chat template and control ids (checkpoint_files.hpp).
#include "generate/checkpoint_files.hpp"

#include <fmt/format.h>

#include "io/file.hpp"
#include "io/json.hpp"

namespace sightline::generate {
namespace {

std::optional<std::string> template_of_tokenizer_config(const std::string& path) {
  const io::Json json = io::read_json_file(path, Code::invalid_tokenizer);
  const io::Json* entry = json.find("chat_template");
  if (entry == nullptr || entry->is_null()) return std::nullopt;
  if (entry->is_string()) return entry->as_string();
  const io::JsonReader list(*entry, path, "chat_template", Code::invalid_tokenizer);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list.at(i).at("name").string() == "default") return list.at(i).at("template").string();
  }
  return std::nullopt;
}

}  // namespace

std::optional<chat::ChatTemplate> read_chat_template(const std::string& directory,
                                                     const std::string& template_path) {
  const std::string jinja =
      template_path.empty() ? directory + "/chat_template.jinja" : template_path;
  if (!template_path.empty() || io::has_file(jinja))
    return chat::ChatTemplate::parse(io::read_file(jinja), jinja);
  const std::string config = directory + "/tokenizer_config.json";
  if (!io::has_file(config)) return std::nullopt;
  std::optional<std::string> source = template_of_tokenizer_config(config);
  if (!source) return std::nullopt;
  return chat::ChatTemplate::parse(*source, config + ": chat_template");
}

const chat::ChatTemplate& require_template(const std::optional<chat::ChatTemplate>& chat_template,
                                           const std::string& directory) {
  if (chat_template) return *chat_template;
  throw Error(
      Code::missing_file,
      fmt::format("{}: the checkpoint has no chat template: expected chat_template.jinja, or "
                  "chat_template in "
                  "tokenizer_config.json (base models have none; --template FILE gives one)",
                  directory),
      {{"file", directory + "/chat_template.jinja"}});
}

ControlIds read_control_ids(const std::string& directory, const tokenizer::Tokenizer& tokenizer) {
  const auto by_string = [&](const char* token) { return tokenizer.id_of(token).value_or(-1); };
  ControlIds ids;
  ids.image = by_string("<|image_pad|>");
  ids.video = by_string("<|video_pad|>");
  ids.vision_start = by_string("<|vision_start|>");
  ids.vision_end = by_string("<|vision_end|>");
  ids.think_open = by_string("<think>");
  ids.think_close = by_string("</think>");
  for (const char* token : {"<|im_end|>", "<|endoftext|>"}) {
    if (const auto id = tokenizer.id_of(token)) ids.end.push_back(*id);
  }
  const std::string path = directory + "/config.json";
  if (!io::has_file(path)) return ids;
  const io::Json json = io::read_json_file(path, Code::invalid_config);
  const io::JsonReader root(json, path, "", Code::invalid_config);
  const auto take = [&](const char* key, std::int32_t& id) {
    constexpr std::int64_t kMaxId = std::int64_t{1} << 30;
    if (root.has(key)) id = static_cast<std::int32_t>(root.at(key).integer(0, kMaxId));
  };
  take("image_token_id", ids.image);
  take("video_token_id", ids.video);
  take("vision_start_token_id", ids.vision_start);
  take("vision_end_token_id", ids.vision_end);
  return ids;
}

bool may_see_pictures(const std::string& directory) {
  const std::string path = directory + "/config.json";
  if (!io::has_file(path)) return true;
  const io::Json json = io::read_json_file(path, Code::invalid_config);
  return io::JsonReader(json, path, "", Code::invalid_config).has("vision_config");
}

bool has_processor_file(const std::string& directory) {
  return io::has_file(directory + "/preprocessor_config.json") ||
         io::has_file(directory + "/processor_config.json");
}

}  // namespace sightline::generate
