// Messages of a request (request_messages.hpp).
#include "generate/request_messages.hpp"

#include <fmt/format.h>

#include "chat/messages.hpp"
#include "tokenizer/utf8.hpp"

namespace sightline {

Message user(std::vector<Part> content) { return {"user", std::move(content)}; }

namespace generate {
namespace {

RequestMessages from_values(const std::vector<Message>& messages) {
  RequestMessages result{io::Json::array(), {}};
  for (std::size_t m = 0; m < messages.size(); ++m) {
    io::Json content = io::Json::array();
    for (std::size_t i = 0; i < messages[m].content.size(); ++i) {
      const Part& part = messages[m].content[i];
      if (const auto* text = std::get_if<std::string>(&part)) {
        require_utf8(*text, fmt::format("messages[{}].content[{}].text", m, i));
        content.push(io::Json::object().add("type", "text").add("text", *text));
        continue;
      }
      result.pictures.push_back(
          {std::get<Picture>(part), fmt::format("messages[{}].content[{}]", m, i)});
      content.push(io::Json::object().add("type", "image"));
    }
    result.json.push(
        io::Json::object().add("role", messages[m].role).add("content", std::move(content)));
  }
  return result;
}

Picture picture_of(const chat::VisualPart& part) {
  if (part.kind != chat::VisualKind::image) {
    throw Error(
        Code::unsupported_content,
        fmt::format("{}: videos can not be answered about yet: expected a picture", part.where),
        {{"path", part.where}});
  }
  Picture picture;
  if (const auto* path = std::get_if<chat::PathSource>(&part.source)) {
    picture = Picture::file(path->path);
  } else {
    const auto& data = std::get<chat::DataSource>(part.source);
    picture = Picture::encoded({data.bytes.begin(), data.bytes.end()}, part.where);
  }
  picture.min_pixels = part.min_pixels;
  picture.max_pixels = part.max_pixels;
  return picture;
}

}  // namespace

void require_utf8(const std::string& text, const std::string& where) {
  const auto bad = tokenizer::find_invalid_utf8(text);
  if (!bad) return;
  throw Error(Code::invalid_utf8,
              fmt::format("{}: expected UTF-8, found byte 0x{:02X} at offset {}", where,
                          static_cast<unsigned char>(text[*bad]), *bad),
              {{"input", where}, {"offset", std::to_string(*bad)}});
}

RequestMessages read_messages(const Request& request) {
  if (!request.messages.empty()) return from_values(request.messages);
  chat::Messages messages = chat::read_messages(io::parse_json(request.messages_json, "messages"));
  RequestMessages result{std::move(messages.json), {}};
  for (const chat::VisualPart& part : messages.visuals)
    result.pictures.push_back({picture_of(part), part.where});
  return result;
}

RenderArguments read_render_arguments(const std::string& tools_json,
                                      const std::string& kwargs_json) {
  RenderArguments arguments;
  if (!tools_json.empty()) {
    arguments.tools = io::parse_json(tools_json, "tools");
    if (!arguments.tools.is_array()) {
      throw Error(Code::invalid_messages,
                  fmt::format("tools: expected a list of tool definitions, found {}",
                              arguments.tools.type_name()));
    }
  }
  if (!kwargs_json.empty()) {
    arguments.kwargs = io::parse_json(kwargs_json, "template arguments");
    if (!arguments.kwargs.is_object()) {
      throw Error(Code::invalid_messages,
                  fmt::format("template arguments: expected an object, found {}",
                              arguments.kwargs.type_name()));
    }
  }
  return arguments;
}

}  // namespace generate
}  // namespace sightline
