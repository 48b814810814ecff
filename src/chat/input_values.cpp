// JSON to values, part by part.
#include "chat/input_values.hpp"

#include <fmt/format.h>

namespace sightline::chat {

Origin InputValues::add_part(std::string where, int message, bool assistant) {
  parts_.push_back({std::move(where), message, assistant});
  return static_cast<Origin>(parts_.size());
}

Value InputValues::uniform(const io::Json& value, Origin origin) {
  if (value.is_null()) return {None{}, origin};
  if (value.is_bool()) return {value.as_bool(), origin};
  if (value.is_int()) return {value.as_int(), origin};
  if (value.is_double()) return {value.as_double(), origin};
  if (value.is_string()) {
    Value text = vm_.make_text(value.as_string(), origin);
    text.origin = origin;  // also of an empty string
    return text;
  }
  if (value.is_array()) {
    std::vector<Value> items;
    for (const io::Json& element : value.as_array()) items.push_back(uniform(element, origin));
    return vm_.make_sequence(std::move(items), Sequence::Kind::list, origin);
  }
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, member] : value.as_object()) {
    items.emplace_back(vm_.make_text(key, origin), uniform(member, origin));
  }
  return vm_.make_json_dict(std::move(items), origin);
}

Value InputValues::field(const io::Json& value, const std::string& where,
                         const SourcePart& message) {
  const Origin origin = add_part(where, message.message, message.assistant);
  // What stands inside one argument of a tool call belongs together.
  const bool argument = where.find(".arguments.") != std::string::npos;
  if (argument || (!value.is_array() && !value.is_object())) return uniform(value, origin);
  if (value.is_array()) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      items.push_back(field(value.as_array()[i], fmt::format("{}[{}]", where, i), message));
    }
    return vm_.make_sequence(std::move(items), Sequence::Kind::list, origin);
  }
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, member] : value.as_object()) {
    const auto next = static_cast<Origin>(parts_.size() + 1);  // the part that field() adds first
    Value inner = field(member, fmt::format("{}.{}", where, key), message);
    items.emplace_back(vm_.make_text(key, next), std::move(inner));
  }
  return vm_.make_json_dict(std::move(items), origin);
}

Value InputValues::messages(const io::Json& messages) {
  const Origin origin = add_part("messages", -1, false);
  if (!messages.is_array()) return uniform(messages, origin);
  std::vector<Value> items;
  for (std::size_t i = 0; i < messages.as_array().size(); ++i) {
    const io::Json& message = messages.as_array()[i];
    const io::Json* role = message.find("role");
    const bool assistant = role != nullptr && role->is_string() && role->as_string() == "assistant";
    items.push_back(
        field(message, fmt::format("messages[{}]", i), {"", static_cast<int>(i), assistant}));
  }
  return vm_.make_sequence(std::move(items), Sequence::Kind::list, origin);
}

Value InputValues::tools(const io::Json& tools) {
  const Origin origin = add_part("tools", -1, false);
  if (!tools.is_array()) return uniform(tools, origin);
  std::vector<Value> items;
  for (std::size_t i = 0; i < tools.as_array().size(); ++i) {
    items.push_back(uniform(tools.as_array()[i], add_part(fmt::format("tools[{}]", i), -1, false)));
  }
  return vm_.make_sequence(std::move(items), Sequence::Kind::list, origin);
}

Value InputValues::keyword(const std::string& name, const io::Json& value) {
  return uniform(value, add_part("kwargs." + name, -1, false));
}

}  // namespace sightline::chat
