// What the interpreter offers to the library: making values within the limits, iteration, errors,
// argument binding.
#include "chat/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chat/python_text.hpp"

namespace sightline::chat {

void Interpreter::fail_with(const std::string& text, const std::string& message) const {
  Error::Context context = {
      {"template", program_.name}, {"line", std::to_string(line_)}, {"reason", message}};
  for (auto site = sites_.rbegin(); site != sites_.rend(); ++site) {
    if (*site == kTemplateOrigin || parts_[*site - 1].message < 0) continue;
    context.emplace_back("path", parts_[*site - 1].where);
    context.emplace_back("message_index", std::to_string(parts_[*site - 1].message));
    break;
  }
  throw Error(Code::template_error, text, std::move(context));
}

void Interpreter::fail(const std::string& message) const {
  fail_with(fmt::format("{} line {}: {}", program_.name, line_, message), message);
}

void Interpreter::raise(const std::string& message) const { fail_with(message, message); }

void Interpreter::require_defined(const Value& value) const {
  if (!value.is_undefined()) return;
  const auto& reason = std::get<Undefined>(value.data).reason;
  fail(reason ? *reason : "the value is undefined");
}

Value Interpreter::make_text(Text text, bool markup) {
  constexpr std::size_t kRunBytes = 16;
  Meter::check_text(text.size());
  meter_.step_bytes(text.size());
  auto string = std::make_shared<String>();
  string->charge = meter_.hold(sizeof(String) + text.size() + text.run_count() * kRunBytes);
  const Origin origin = text.taint();
  string->text = std::move(text);
  string->markup = markup;
  return {std::shared_ptr<const String>(std::move(string)), origin};
}

Value Interpreter::make_sequence(std::vector<Value> items, Sequence::Kind kind, Origin origin) {
  auto sequence = std::make_shared<Sequence>();
  meter_.step(1 + items.size() / 8);
  sequence->charge = meter_.hold(sizeof(Sequence) + items.size() * sizeof(Value));
  for (const Value& item : items) sequence->depth = std::max(sequence->depth, 1 + depth_of(item));
  if (sequence->depth > kMaxValueDepth) Meter::fail("nests values too deep");
  sequence->kind = kind;
  sequence->items = std::move(items);
  return {std::shared_ptr<const Sequence>(std::move(sequence)), origin};
}

Value Interpreter::make_dict(std::vector<std::pair<Value, Value>> items, Origin origin) {
  auto dict = std::make_shared<Dict>();
  dict->charge = meter_.hold(sizeof(Dict) + items.size() * 2 * sizeof(Value));
  for (auto& [key, value] : items) {
    if (key.is_dict() || (key.is_sequence() && key.sequence().kind != Sequence::Kind::tuple)) {
      fail(fmt::format("unhashable type: '{}'", type_name(key)));
    }
    const auto same = std::find_if(
        dict->items.begin(), dict->items.end(),
        [&, &wanted = key](const auto& known) { return equal(meter_, known.first, wanted); });
    dict->depth = std::max({dict->depth, 1 + depth_of(key), 1 + depth_of(value)});
    if (same != dict->items.end()) {
      same->second = std::move(value);
    } else {
      dict->items.emplace_back(std::move(key), std::move(value));
    }
  }
  if (dict->depth > kMaxValueDepth) Meter::fail("nests values too deep");
  return {std::shared_ptr<const Dict>(std::move(dict)), origin};
}

Value Interpreter::make_json_dict(std::vector<std::pair<Value, Value>> items, Origin origin) {
  auto dict = std::make_shared<Dict>();
  dict->charge = meter_.hold(sizeof(Dict) + items.size() * 2 * sizeof(Value));
  for (const auto& member : items) dict->depth = std::max(dict->depth, 1 + depth_of(member.second));
  if (dict->depth > kMaxValueDepth) Meter::fail("nests values too deep");
  dict->items = std::move(items);
  return {std::shared_ptr<const Dict>(std::move(dict)), origin};
}

Value Interpreter::make_namespace(std::vector<std::pair<std::string, Value>> attributes) {
  auto ns = std::make_unique<Namespace>();
  ns->charge =
      meter_.hold(sizeof(Namespace) + attributes.size() * (sizeof(Value) + sizeof(std::string)));
  ns->attributes = std::move(attributes);
  namespaces_.push_back(std::move(ns));
  return Value(namespaces_.back().get());
}

Value Interpreter::make_undefined(std::string reason) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(reason))});
}

std::vector<Value> Interpreter::iterate(const Value& value) {
  if (value.is_undefined()) return {};
  std::vector<Value> items;
  if (value.is_sequence()) {
    meter_.step(1 + value.sequence().items.size() / 8);
    return value.sequence().items;
  }
  if (value.is_dict()) {
    meter_.step(1 + value.dict().items.size() / 8);
    for (const auto& member : value.dict().items) items.push_back(member.first);
    return items;
  }
  if (!value.is_string()) fail(fmt::format("'{}' object is not iterable", type_name(value)));
  const std::string& bytes = value.bytes();
  for (std::size_t i = 0; i < bytes.size(); i += char_size(bytes, i)) {
    items.push_back(make_text(value.text().slice(i, i + char_size(bytes, i))));
  }
  return items;
}

Text Interpreter::to_text(const Value& value) {
  if (value.is_string()) meter_.step_bytes(value.text().size());
  return python_str(*this, value);
}

Bound::Bound(Interpreter& vm, const char* function, const Arguments& arguments,
             std::initializer_list<const char*> names)
    : vm_(vm), function_(function), names_(names), values_(names.size(), nullptr) {
  if (arguments.positional.size() > names_.size()) {
    vm_.fail(fmt::format("{}() takes at most {} argument(s), {} given", function, names_.size(),
                         arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto it =
        std::find_if(names_.begin(), names_.end(), [&](const char* n) { return name == n; });
    if (it == names_.end())
      vm_.fail(fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
    const Value*& slot = values_[static_cast<std::size_t>(it - names_.begin())];
    if (slot != nullptr)
      vm_.fail(fmt::format("{}() got multiple values for argument '{}'", function, name));
    slot = &value;
  }
}

const Value& Bound::need(std::size_t i) const {
  if (values_[i] == nullptr)
    vm_.fail(fmt::format("{}() missing 1 required argument: '{}'", function_, names_[i]));
  return *values_[i];
}

std::int64_t Bound::integer(std::size_t i, std::int64_t fallback) const {
  if (values_[i] == nullptr) return fallback;
  vm_.require_defined(*values_[i]);
  if (!values_[i]->is_int() && !values_[i]->is_bool()) {
    vm_.fail(fmt::format("{}(): '{}' must be an integer, not {}", function_, names_[i],
                         type_name(*values_[i])));
  }
  return values_[i]->integer();
}

bool Bound::flag(std::size_t i, bool fallback) const {
  return values_[i] == nullptr ? fallback : is_true(*values_[i]);
}

Text Bound::text(std::size_t i, std::string_view fallback) const {
  if (values_[i] == nullptr || values_[i]->is_none()) return Text(fallback);
  vm_.require_defined(*values_[i]);
  if (!values_[i]->is_string()) {
    vm_.fail(fmt::format("{}(): '{}' must be str, not {}", function_, names_[i],
                         type_name(*values_[i])));
  }
  return values_[i]->text();
}

}  // namespace sightline::chat
