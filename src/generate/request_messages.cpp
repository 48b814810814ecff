// Messages of a request (request_messages.hpp).
#include "generate/request_messages.hpp"

#include <fmt/format.h>

#include "calc/sampling.hpp"
#include "chat/messages.hpp"
#include "image/processor_config.hpp"
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
      const std::string where = fmt::format("messages[{}].content[{}]", m, i);
      const auto* picture = std::get_if<Picture>(&part);
      content.push(io::Json::object().add("type", picture != nullptr ? "image" : "video"));
      if (picture != nullptr) {
        result.visuals.push_back({*picture, where});
      } else {
        result.visuals.push_back({std::get<Video>(part), where});
      }
    }
    result.json.push(
        io::Json::object().add("role", messages[m].role).add("content", std::move(content)));
  }
  return result;
}

Picture picture_of(const chat::VisualSource& source, const std::string& name) {
  if (const auto* path = std::get_if<chat::PathSource>(&source)) return Picture::file(path->path);
  const std::string& bytes = std::get<chat::DataSource>(source).bytes;
  return Picture::encoded({bytes.begin(), bytes.end()}, name);
}

// What a video part says beside its source; every value is checked, none ignored.
VideoOptions video_options(const io::Json& options, const std::string& where, Video& video) {
  const io::JsonReader part(options, where, "", Code::invalid_messages);
  VideoOptions result;
  const auto rate = [&](const char* key, std::optional<double>& target) {
    if (part.has(key)) target = part.at(key).number(calc::kMinRate, calc::kMaxRate);
  };
  const auto count = [&](const char* key, std::optional<std::int64_t>& target) {
    if (part.has(key)) target = part.at(key).integer(1, calc::kMaxFrames);
  };
  rate("fps", result.fps);
  rate("sample_fps", result.rate);
  count("num_frames", result.num_frames);
  count("nframes", result.num_frames);
  count("min_frames", result.min_frames);
  count("max_frames", result.max_frames);
  if (part.has("total_pixels"))
    video.total_pixels = part.at("total_pixels").integer(1, image::kMaxPixelLimit);
  return result;
}

Video video_of(const chat::VisualPart& part) {
  Video video;
  if (!part.frames.empty()) {
    std::vector<Picture> frames;
    for (std::size_t i = 0; i < part.frames.size(); ++i)
      frames.push_back(picture_of(part.frames[i], fmt::format("{}.video[{}]", part.where, i)));
    video.source = std::move(frames);
  } else {
    Picture source = picture_of(part.source, part.where);
    if (auto* file = std::get_if<Picture::File>(&source.source)) {
      video.source = std::move(*file);
    } else {
      video.source = std::get<Picture::Encoded>(std::move(source.source));
    }
  }
  video.options = video_options(part.options, part.where, video);
  video.min_pixels = part.min_pixels;
  video.max_pixels = part.max_pixels;
  return video;
}

std::variant<Picture, Video> visual_of(const chat::VisualPart& part) {
  if (part.kind == chat::VisualKind::video) return video_of(part);
  Picture picture = picture_of(part.source, part.where);
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
    result.visuals.push_back({visual_of(part), part.where});
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
