// Expressions: names, attributes and items, slices, operators, filters, tests and calls.
#include <fmt/format.h>

#include <algorithm>

#include "chat/interpreter.hpp"
#include "chat/library.hpp"
#include "chat/operators.hpp"

namespace sightline::chat {

Value Interpreter::evaluate(const Node& node, Scope& scope) {
  meter_.step();
  if (node.kind == NodeKind::constant) return node.constant;
  if (node.kind == NodeKind::name) return evaluate_name(node, scope);
  const DepthGuard depth(meter_);
  const int line = std::exchange(line_, node.line);
  Value value = evaluate_node(node, scope);
  line_ = line;
  return value;
}

Value Interpreter::evaluate_node(const Node& node, Scope& scope) {
  const auto kid = [&](std::size_t i) { return evaluate(*node.kids[i], scope); };
  switch (node.kind) {
    case NodeKind::list:
    case NodeKind::tuple:
    case NodeKind::dict:
      return evaluate_items(node, scope);
    case NodeKind::attribute:
      return attribute(kid(0), node.text);
    case NodeKind::item: {
      const Value object = kid(0);
      return item(object, kid(1));
    }
    case NodeKind::slice:
      return evaluate_slice(node, scope);
    case NodeKind::call:
      return evaluate_call(node, scope);
    case NodeKind::filter:
      return evaluate_filter(node, scope);
    case NodeKind::test:
      return Value(evaluate_test(node, scope));
    case NodeKind::block_input:
      return block_input_;
    case NodeKind::not_:
      return Value(!is_true(kid(0)));
    case NodeKind::negate:
      return negated(*this, kid(0));
    case NodeKind::plus: {
      Value value = kid(0);
      require_defined(value);
      if (!value.is_number())
        fail(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
      return value.is_bool() ? Value(value.integer(), value.origin) : value;
    }
    case NodeKind::binary: {
      const Value left = kid(0);
      return binary_operation(*this, node.text, left, kid(1));
    }
    case NodeKind::concat:
      return evaluate_concat(node, scope);
    case NodeKind::compare:
      return evaluate_compare(node, scope);
    case NodeKind::and_: {
      Value left = kid(0);
      return is_true(left) ? kid(1) : left;
    }
    case NodeKind::or_: {
      Value left = kid(0);
      return is_true(left) ? left : kid(1);
    }
    case NodeKind::choose:
      return evaluate_choice(node, scope);
    default:
      fail("a statement stands where an expression is expected");
  }
}

Value Interpreter::evaluate_name(const Node& node, const Scope& scope) const {
  for (const Scope* s = &scope; s != nullptr; s = s->parent) {
    for (const auto& [name, value] : s->variables) {
      if (name == node.name) return value;
    }
  }
  const std::string& name = program_.names[static_cast<std::size_t>(node.name)];
  if (const Function function = find_global(name)) {
    auto callable = std::make_shared<Callable>();
    callable->name = name;
    callable->function = function;
    return Value(std::shared_ptr<const Callable>(std::move(callable)));
  }
  if (name == "cycler" || name == "joiner" || name == "lipsum") {
    fail(fmt::format("the function '{}' is not supported", name));
  }
  return make_undefined(fmt::format("'{}' is undefined", name));
}

Value Interpreter::evaluate_items(const Node& node, Scope& scope) {
  if (node.kind != NodeKind::dict) {
    std::vector<Value> items;
    for (const NodePtr& kid : node.kids) items.push_back(evaluate(*kid, scope));
    return make_sequence(std::move(items), node.kind == NodeKind::list ? Sequence::Kind::list
                                                                       : Sequence::Kind::tuple);
  }
  std::vector<std::pair<Value, Value>> items;
  for (std::size_t i = 0; i < node.kids.size(); i += 2) {
    Value key = evaluate(*node.kids[i], scope);
    Value value = evaluate(*node.kids[i + 1], scope);
    items.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(std::move(items));
}

Value Interpreter::evaluate_slice(const Node& node, Scope& scope) {
  const Value object = evaluate(*node.kids[0], scope);
  const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
    if (!node.kids[i]) return std::nullopt;
    const Value value = evaluate(*node.kids[i], scope);
    if (value.is_none()) return std::nullopt;
    if (!value.is_int() && !value.is_bool())
      fail("slice indices must be integers or None or have an __index__ method");
    return value.integer();
  };
  SliceBounds bounds;
  bounds.start = bound(1);
  bounds.stop = bound(2);
  bounds.step = bound(3);
  return slice(*this, object, bounds);
}

Arguments Interpreter::evaluate_arguments(const Node& node, Scope& scope) {
  Arguments arguments;
  for (std::size_t i = 1; i < node.kids.size(); ++i)
    arguments.positional.push_back(evaluate(*node.kids[i], scope));
  for (const auto& [name, value] : node.named)
    arguments.named.emplace_back(name, evaluate(*value, scope));
  if (node.spread_list) {
    for (Value& value : iterate(evaluate(*node.spread_list, scope)))
      arguments.positional.push_back(std::move(value));
  }
  if (node.spread_named) {
    const Value more = evaluate(*node.spread_named, scope);
    if (!more.is_dict())
      fail("argument after ** must be a mapping, not " + std::string(type_name(more)));
    for (const auto& [key, value] : more.dict().items) {
      if (!key.is_string()) fail("keywords must be strings");
      arguments.named.emplace_back(key.bytes(), value);
    }
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Node& node, Scope& scope) {
  const Value callee = evaluate(*node.kids[0], scope);
  return call(callee, evaluate_arguments(node, scope));
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  require_defined(callee);
  if (callee.is<std::shared_ptr<Loop>>()) {
    if (arguments.positional.size() != 1) fail("loop() takes one argument");
    const std::shared_ptr<Loop> loop = std::get<std::shared_ptr<Loop>>(callee.data);
    return recurse(*loop, arguments.positional[0]);
  }
  if (!callee.is<std::shared_ptr<const Callable>>())
    fail(fmt::format("'{}' object is not callable", type_name(callee)));
  const std::shared_ptr<const Callable> callable =
      std::get<std::shared_ptr<const Callable>>(callee.data);
  if (callable->macro != nullptr) return call_macro(*callable, arguments);
  return callable->function(*this, callable->self, arguments);
}

Value Interpreter::evaluate_filter(const Node& node, Scope& scope) {
  const Value input = evaluate(*node.kids[0], scope);
  return node.function(*this, input, evaluate_arguments(node, scope));
}

bool Interpreter::evaluate_test(const Node& node, Scope& scope) {
  const Value input = evaluate(*node.kids[0], scope);
  return node.test_function(*this, input, evaluate_arguments(node, scope));
}

Value Interpreter::evaluate_compare(const Node& node, Scope& scope) {
  Value left = evaluate(*node.kids[0], scope);
  for (std::size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.kids[i + 1], scope);
    if (!comparison(*this, node.operators[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_concat(const Node& node, Scope& scope) {
  Text text;
  for (const NodePtr& kid : node.kids) {
    const Text part = to_text(evaluate(*kid, scope));
    Meter::check_text(text.size() + part.size());
    text.append(part);
  }
  return make_text(std::move(text));
}

Value Interpreter::evaluate_choice(const Node& node, Scope& scope) {
  if (is_true(evaluate(*node.kids[0], scope))) return evaluate(*node.kids[1], scope);
  if (node.kids[2]) return evaluate(*node.kids[2], scope);
  return make_undefined(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined.",
      node.line));
}

Value Interpreter::method(const Value& object, std::string_view name) const {
  if (is_forbidden_method(object, name)) {
    return make_undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  }
  const Function function = find_method(object, name);
  if (function == nullptr) return {};
  auto callable = std::make_shared<Callable>();
  callable->name = name;
  callable->function = function;
  callable->self = object;
  return Value(std::shared_ptr<const Callable>(std::move(callable)));
}

namespace {

// How jinja2 calls an object that lacks an attribute.
std::string described(const Value& object) {
  return object.is_none() ? "None" : fmt::format("{} object", type_name(object));
}

const Value* member(const Value& object, std::string_view name) {
  if (object.is_dict()) return object.dict().find(name);
  if (!object.is<Namespace*>()) return nullptr;
  const auto& attributes = std::get<Namespace*>(object.data)->attributes;
  const auto it = std::find_if(attributes.begin(), attributes.end(),
                               [&](const auto& a) { return a.first == name; });
  return it == attributes.end() ? nullptr : &it->second;
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view name) {
  require_defined(object);
  if (object.is<std::shared_ptr<Loop>>())
    return loop_attribute(object, *std::get<std::shared_ptr<Loop>>(object.data), name);
  if (object.is_dict()) meter_.step(1 + object.dict().items.size() / 8);
  if (Value bound = method(object, name);
      !bound.is_undefined() || std::get<Undefined>(bound.data).reason)
    return bound;
  if (const Value* found = member(object, name)) return *found;
  return make_undefined(fmt::format("'{}' has no attribute '{}'", described(object), name));
}

Value Interpreter::item(const Value& object, const Value& key) {
  require_defined(object);
  if (object.is_dict()) {
    for (const auto& [name, value] : object.dict().items) {
      if (equal(meter_, name, key)) return value;
    }
  }
  if (key.is_int() || key.is_bool()) {
    const bool indexable =
        object.is_sequence() && (object.sequence().kind <= Sequence::Kind::tuple ||
                                 object.sequence().kind == Sequence::Kind::range);
    const auto size = static_cast<std::int64_t>(object.is_string() ? count_chars(object.bytes())
                                                : indexable        ? object.sequence().items.size()
                                                                   : 0);
    if (object.is_string()) meter_.step_bytes(object.bytes().size());
    const std::int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index >= 0 && index < size) {
      if (indexable) return object.sequence().items[static_cast<std::size_t>(index)];
      const std::size_t begin = char_offset(object.bytes(), static_cast<std::size_t>(index));
      return make_text(object.text().slice(begin, begin + char_size(object.bytes(), begin)));
    }
    return make_undefined(fmt::format("{} has no element {}", described(object), key.integer()));
  }
  if (!key.is_string())
    return make_undefined(
        fmt::format("{} has no element {}", described(object), to_text(key).bytes()));
  return attribute(object, key.bytes());
}

Value Interpreter::loop_attribute(const Value& object, const Loop& loop, std::string_view name) {
  const auto number = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
  const std::size_t length = loop.items.size();
  if (name == "index") return number(loop.index0 + 1);
  if (name == "index0") return number(loop.index0);
  if (name == "revindex") return number(length - loop.index0);
  if (name == "revindex0") return number(length - loop.index0 - 1);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(loop.index0 + 1 == length);
  if (name == "length") return number(length);
  if (name == "depth") return number(loop.depth0 + 1);
  if (name == "depth0") return number(loop.depth0);
  if (name == "previtem")
    return loop.index0 > 0 ? loop.items[loop.index0 - 1]
                           : make_undefined("there is no previous item");
  if (name == "nextitem") {
    return loop.index0 + 1 < length ? loop.items[loop.index0 + 1]
                                    : make_undefined("there is no next item");
  }
  Value bound = method(object, name);
  return bound.is_undefined()
             ? make_undefined(fmt::format("'LoopContext object' has no attribute '{}'", name))
             : bound;
}

}  // namespace sightline::chat
