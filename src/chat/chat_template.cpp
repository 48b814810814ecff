// Ties parser, interpreter and input together.
#include "chat/chat_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "chat/input_values.hpp"
#include "chat/interpreter.hpp"
#include "chat/parser.hpp"

namespace sightline::chat {
namespace {

// Keeps only the parts that occur in the text, numbered in order of first occurrence.
void compact_parts(SourceText& text) {
  std::vector<Origin> renumbered(text.parts.size() + 1, kTemplateOrigin);
  std::vector<SourcePart> used;
  for (Origin& origin : text.origins) {
    if (origin == kTemplateOrigin) continue;
    Origin& number = renumbered[origin];
    if (number == kTemplateOrigin) {
      used.push_back(std::move(text.parts[origin - 1]));
      number = static_cast<Origin>(used.size());
    }
    origin = number;
  }
  text.parts = std::move(used);
}

void check_keywords(const io::Json& kwargs) {
  if (!kwargs.is_object()) {
    throw Error(Code::invalid_option,
                fmt::format("template keyword arguments: expected an object, found {}",
                            kwargs.type_name()));
  }
  constexpr std::string_view kOwn[] = {"messages", "tools", "add_generation_prompt"};
  for (const auto& member : kwargs.as_object()) {
    if (std::find(std::begin(kOwn), std::end(kOwn), member.first) == std::end(kOwn)) continue;
    throw Error(
        Code::invalid_option,
        fmt::format("template keyword arguments: '{}' has an option of its own", member.first),
        {{"keyword", member.first}});
  }
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source, const std::string& name) {
  return ChatTemplate(std::make_shared<const Program>(parse_template(source, name)));
}

bool ChatTemplate::uses(std::string_view variable) const {
  return program_->find_name(variable) >= 0;
}

SourceText ChatTemplate::render(const RenderInput& input) const {
  check_keywords(input.kwargs);
  SourceText result;
  Meter meter;
  const std::time_t now = input.now ? static_cast<std::time_t>(*input.now) : std::time(nullptr);
  Interpreter vm(*program_, meter, result.parts, now);
  InputValues values(vm, result.parts);
  std::vector<std::pair<int, Value>> variables;
  const auto define = [&](std::string_view name, Value value) {
    const int index = program_->find_name(name);
    if (index >= 0) variables.emplace_back(index, std::move(value));
  };
  for (const auto& [name, value] : input.kwargs.as_object()) {
    if (uses(name)) define(name, values.keyword(name, value));
  }
  if (input.kwargs.find("documents") == nullptr) define("documents", Value(None{}));
  define("messages", values.messages(input.messages));
  define("tools", input.tools != nullptr ? values.tools(*input.tools) : Value(None{}));
  define("add_generation_prompt", Value(input.add_generation_prompt));
  vm.run(std::move(variables)).write_to(result);
  compact_parts(result);
  return result;
}

}  // namespace sightline::chat
