// Uniform messages for the template.
#include "chat/messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chat/content_parts.hpp"
#include "sightline/error.hpp"

namespace sightline::chat {

void fail_message(const std::string& where, const std::string& expected, const std::string& found) {
  constexpr std::size_t kMaxShown = 80;
  const std::string shown = found.size() > kMaxShown ? found.substr(0, kMaxShown) + "…" : found;
  throw Error(Code::invalid_messages,
              fmt::format("{}: expected {}, found {}", where, expected, shown),
              {{"path", where}, {"expected", expected}, {"found", shown}});
}

namespace {

io::Json* find_member(io::Json& object, std::string_view key) {
  auto& members = object.as_object();
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const io::Json::Member& m) { return m.first == key; });
  return it == members.end() ? nullptr : &it->second;
}

// Reasoning has three names in use; the template reads `reasoning_content`.
void unite_reasoning(io::Json& message, const std::string& where) {
  constexpr std::string_view kNames[] = {"reasoning_content", "thinking", "reasoning"};
  for (const std::string_view name : kNames) {
    const io::Json* found = find_member(message, name);
    if (found == nullptr) continue;
    if (!found->is_string())
      fail_message(fmt::format("{}.{}", where, name), "a string", found->type_name());
    const io::Json reasoning = *found;
    for (const std::string_view filled : {kNames[0], kNames[1]}) {
      if (io::Json* member = find_member(message, filled)) {
        *member = reasoning;
      } else {
        message.add(std::string(filled), reasoning);
      }
    }
    return;
  }
}

// Arguments of a call: OpenAI sends a text, the template wants a mapping.
void read_arguments(io::Json& arguments, const std::string& where) {
  if (arguments.is_string()) {
    const std::string text = arguments.as_string();
    const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
    try {
      arguments = blank ? io::Json::object() : io::parse_json(text, where);
    } catch (const Error& error) {
      throw Error(Code::invalid_messages, error.what(), {{"path", where}});
    }
  }
  if (!arguments.is_object()) fail_message(where, "a JSON object", arguments.type_name());
}

void read_tool_calls(io::Json& calls, const std::string& where) {
  if (!calls.is_array()) fail_message(where, "an array of calls", calls.type_name());
  for (std::size_t i = 0; i < calls.as_array().size(); ++i) {
    io::Json* call = &calls.as_array()[i];
    std::string path = fmt::format("{}[{}]", where, i);
    if (!call->is_object()) fail_message(path, "an object", call->type_name());
    if (io::Json* function = find_member(*call, "function")) {
      path += ".function";
      if (!function->is_object()) fail_message(path, "an object", function->type_name());
      call = function;
    }
    const io::Json* name = find_member(*call, "name");
    if (name == nullptr || !name->is_string()) {
      fail_message(path + ".name", "a string", name == nullptr ? "nothing" : name->type_name());
    }
    if (io::Json* arguments = find_member(*call, "arguments"))
      read_arguments(*arguments, path + ".arguments");
  }
}

// {"type": "video_url", "video_url": {"url": …}} becomes {"type": "video", "video": …}, which
// templates know.
void unite_videos(io::Json& content) {
  if (!content.is_array()) return;
  for (io::Json& part : content.as_array()) {
    if (!part.is_object()) continue;
    for (auto& [key, value] : part.as_object()) {
      if (key == "video_url") {
        const io::Json* url = value.find("url");
        const io::Json source = url != nullptr ? *url : value;
        key = "video";
        value = source;
      } else if (key == "type" && value == io::Json("video_url")) {
        value = "video";
      }
    }
  }
}

io::Json normalize_message(const io::Json& message, const std::string& where) {
  if (!message.is_object())
    fail_message(where, "an object with role and content", message.type_name());
  io::Json result = message;
  std::erase_if(result.as_object(),
                [](const io::Json::Member& member) { return member.second.is_null(); });
  const io::Json* role = find_member(result, "role");
  if (role == nullptr || !role->is_string()) {
    fail_message(where + ".role", "a string", role == nullptr ? "nothing" : role->type_name());
  }
  unite_reasoning(result, where);
  if (io::Json* calls = find_member(result, "tool_calls"))
    read_tool_calls(*calls, where + ".tool_calls");
  if (io::Json* content = find_member(result, "content")) unite_videos(*content);
  return result;
}

}  // namespace

io::Json normalize_messages(const io::Json& messages) {
  if (!messages.is_array()) fail_message("messages", "an array of messages", messages.type_name());
  io::Json result = io::Json::array();
  for (std::size_t i = 0; i < messages.as_array().size(); ++i) {
    result.push(normalize_message(messages.as_array()[i], fmt::format("messages[{}]", i)));
  }
  return result;
}

Messages read_messages(const io::Json& messages) {
  Messages result{normalize_messages(messages), {}};
  for (std::size_t m = 0; m < result.json.as_array().size(); ++m) {
    io::Json* content = find_member(result.json.as_array()[m], "content");
    const std::string where = fmt::format("messages[{}].content", m);
    if (content == nullptr || content->is_string()) continue;
    if (!content->is_array())
      fail_message(where, "a string or an array of parts", content->type_name());
    for (std::size_t i = 0; i < content->as_array().size(); ++i) {
      std::optional<VisualPart> visual =
          read_content_part(content->as_array()[i], fmt::format("{}[{}]", where, i));
      if (!visual) continue;
      visual->message = m;
      visual->item = i;
      result.visuals.push_back(std::move(*visual));
    }
  }
  return result;
}

}  // namespace sightline::chat
