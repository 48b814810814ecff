// Reading messages files.
#include "cli/messages_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "chat/data_url.hpp"
#include "cli/input.hpp"
#include "io/file.hpp"

namespace sightline::cli {
namespace {

bool is_url(const std::string& text) {
  return text.find("://") != std::string::npos || chat::is_data_url(text);
}

/// A path, an object with "url" or "path", or a list of paths (frames).
void make_absolute(io::Json& source, const std::string& directory) {
  if (source.is_array()) {
    for (io::Json& item : source.as_array()) make_absolute(item, directory);
  } else if (source.is_object()) {
    for (auto& [key, value] : source.as_object()) {
      if (key == "url" || key == "path") make_absolute(value, directory);
    }
  } else if (source.is_string() && !is_url(source.as_string())) {
    const std::filesystem::path path = std::filesystem::path(directory) / source.as_string();
    source = std::filesystem::absolute(path).lexically_normal().string();
  }
}

void make_part_absolute(io::Json& part, const std::string& directory) {
  if (!part.is_object()) return;
  for (auto& [key, value] : part.as_object()) {
    if (key == "image" || key == "image_url" || key == "video" || key == "video_url") {
      make_absolute(value, directory);
    }
  }
}

}  // namespace

io::Json read_message_list(const std::string& file, Output& output) {
  const bool standard_input = file == "-";
  const std::string name = standard_input ? kStandardInput : file;
  const std::string text =
      standard_input ? read_standard_input(output, "the messages") : io::read_file(file);
  io::Json document = io::parse_json(text, name);
  const io::Json* list = document.is_object() ? document.find("messages") : &document;
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::invalid_messages,
                fmt::format("{}: expected a list of messages, or an object with the list "
                            "\"messages\", found {}",
                            name, list == nullptr ? "an object without it" : list->type_name()),
                {{"file", name}});
  }
  return *list;
}

std::string read_tools(const std::string& file) {
  const io::Json tools = io::read_json_file(file, Code::invalid_json);
  if (!tools.is_array()) {
    throw Error(
        Code::invalid_messages,
        fmt::format("{}: expected a list of tool definitions, found {}", file, tools.type_name()),
        {{"file", file}});
  }
  return io::to_json_text(tools);
}

void make_paths_absolute(io::Json& messages, const std::string& directory) {
  for (io::Json& message : messages.as_array()) {
    if (!message.is_object()) continue;
    for (auto& [key, value] : message.as_object()) {
      if (key != "content" || !value.is_array()) continue;
      for (io::Json& part : value.as_array()) make_part_absolute(part, directory);
    }
  }
}

std::string directory_of(const std::string& file) {
  return file == "-" ? "" : std::filesystem::path(file).parent_path().string();
}

}  // namespace sightline::cli
