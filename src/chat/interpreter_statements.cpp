// Statements: output, conditions, loops, assignments, macros and the blocks that capture text.
#include <fmt/format.h>

#include <algorithm>

#include "chat/interpreter.hpp"

namespace sightline::chat {

// Redirects the output while it lives.
class Capture {
 public:
  explicit Capture(Interpreter& vm) : vm_(vm), saved_(vm.meter_) { std::swap(vm_.out_, saved_); }
  ~Capture() { std::swap(vm_.out_, saved_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Text take() { return std::move(vm_.out_.text); }

 private:
  Interpreter& vm_;
  Interpreter::Output saved_;
};

namespace {

// When a loop ends it can no longer be called, and forgets what could refer to itself.
struct LoopEnd {
  Loop& loop;
  ~LoopEnd() {
    loop.recursive = nullptr;
    loop.outer = nullptr;
    loop.last_changed = Value();
  }
};

}  // namespace

void Scope::set(int name, Value value) {
  const auto it = std::find_if(variables.begin(), variables.end(),
                               [&](const auto& v) { return v.first == name; });
  if (it == variables.end()) {
    variables.emplace_back(name, std::move(value));
  } else {
    it->second = std::move(value);
  }
}

Interpreter::~Interpreter() {
  // Values may refer to each other across scopes and namespaces only by plain pointers; drop them
  // before their owners.
  for (const auto& scope : kept_) scope->variables.clear();
  for (const auto& ns : namespaces_) ns->attributes.clear();
}

void Interpreter::Output::append(const Text& more) {
  Meter::check_text(text.size() + more.size());
  charge.grow(more.size());
  text.append(more);
}

Text Interpreter::run(std::vector<std::pair<int, Value>> variables) {
  auto scope = std::make_unique<Scope>(nullptr);
  scope->variables = std::move(variables);
  execute(program_.body, *scope);
  leave(std::move(scope));
  return std::move(out_.text);
}

void Interpreter::leave(std::unique_ptr<Scope> scope) {
  if (!scope->captured) return;
  constexpr std::size_t kScopeBytes = 256;
  kept_charge_.grow(kScopeBytes);
  kept_.push_back(std::move(scope));
}

Interpreter::Flow Interpreter::execute(const std::vector<NodePtr>& body, Scope& scope) {
  for (const NodePtr& node : body) {
    const Flow flow = execute(*node, scope);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Node& node, Scope& scope) {
  meter_.step();
  const DepthGuard depth(meter_);
  line_ = node.line;
  switch (node.kind) {
    case NodeKind::data:
      print(node.constant);
      break;
    case NodeKind::print:
      print(evaluate(*node.kids[0], scope));
      break;
    case NodeKind::if_else:
      return execute(is_true(evaluate(*node.kids[0], scope)) ? node.body : node.other, scope);
    case NodeKind::for_loop:
      return execute_for(node, evaluate(*node.kids[1], scope), scope, 0);
    case NodeKind::set:
      assign(*node.kids[0], evaluate(*node.kids[1], scope), scope);
      break;
    case NodeKind::set_block: {
      Value value = make_text(captured(node.body, scope));
      if (node.kids[1]) {
        block_input_ = std::move(value);
        value = evaluate(*node.kids[1], scope);
      }
      assign(*node.kids[0], std::move(value), scope);
      break;
    }
    case NodeKind::filter_block:
      block_input_ = make_text(captured(node.body, scope));
      print(evaluate(*node.kids[0], scope));
      break;
    case NodeKind::with:
      execute_with(node, scope);
      break;
    case NodeKind::macro:
      scope.set(node.name, make_macro(node, scope));
      break;
    case NodeKind::call_block:
      execute_call_block(node, scope);
      break;
    case NodeKind::scope:
      print(make_text(captured(node.body, scope)));
      break;
    case NodeKind::break_loop:
      return Flow::break_loop;
    case NodeKind::continue_loop:
      return Flow::continue_loop;
    default:
      fail("an expression stands where a statement is expected");
  }
  return Flow::next;
}

void Interpreter::print(const Value& value) {
  if (value.is_string()) {
    meter_.step_bytes(value.text().size());
    out_.append(value.text());
  } else {
    out_.append(to_text(value));
  }
}

Text Interpreter::captured(const std::vector<NodePtr>& body, Scope& scope) {
  auto inner = std::make_unique<Scope>(&scope);
  Capture capture(*this);
  execute(body, *inner);
  leave(std::move(inner));
  return capture.take();
}

// Elements to loop over, those that pass the filter.
std::vector<Value> Interpreter::loop_items(const Node& node, const Value& iterable, Scope& scope) {
  std::vector<Value> items = iterate(iterable);
  if (!node.kids[2]) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    auto inner = std::make_unique<Scope>(&scope);
    assign(*node.kids[0], item, *inner);
    if (is_true(evaluate(*node.kids[2], *inner))) kept.push_back(std::move(item));
    leave(std::move(inner));
  }
  return kept;
}

Interpreter::Flow Interpreter::execute_for(const Node& node, const Value& iterable, Scope& scope,
                                           std::size_t depth0) {
  auto loop = std::make_shared<Loop>();
  loop->items = loop_items(node, iterable, scope);
  loop->charge = meter_.hold(sizeof(Loop) + loop->items.size() * sizeof(Value));
  loop->depth0 = depth0;
  for (const Value& item : loop->items)
    loop->value_depth = std::max(loop->value_depth, 1 + depth_of(item));
  if (loop->value_depth > kMaxValueDepth) Meter::fail("nests values too deep");
  if (loop->items.empty()) {
    auto inner = std::make_unique<Scope>(&scope);
    const Flow flow = execute(node.other, *inner);
    leave(std::move(inner));
    return flow;
  }
  loop->recursive = node.flag ? &node : nullptr;
  loop->outer = &scope;
  const LoopEnd end{*loop};
  const int name = program_.find_name("loop");
  for (std::size_t i = 0; i < loop->items.size(); ++i) {
    meter_.step();
    loop->index0 = i;
    auto inner = std::make_unique<Scope>(&scope);
    if (name >= 0) inner->set(name, Value(loop));
    assign(*node.kids[0], loop->items[i], *inner);
    sites_.push_back(loop->items[i].origin);
    const Flow flow = execute(node.body, *inner);
    sites_.pop_back();
    leave(std::move(inner));
    if (flow == Flow::break_loop) break;
  }
  return Flow::next;
}

Value Interpreter::recurse(const Loop& loop, const Value& items) {
  if (loop.recursive == nullptr)
    fail("The loop must have the 'recursive' marker to be called recursively.");
  const DepthGuard depth(meter_);
  Capture capture(*this);
  execute_for(*loop.recursive, items, *loop.outer, loop.depth0 + 1);
  return make_text(capture.take());
}

void Interpreter::assign(const Node& target, Value value, Scope& scope) {
  if (target.kind == NodeKind::name) {
    scope.set(target.name, std::move(value));
    return;
  }
  if (target.kind == NodeKind::namespace_target) {
    const Value object = evaluate_name(target, scope);
    if (!object.is<Namespace*>()) fail("cannot assign attribute on non-namespace object");
    auto& attributes = std::get<Namespace*>(object.data)->attributes;
    if (target.text.front() == '_') {
      fail(fmt::format("an attribute of a namespace must not begin with an underscore: '{}'",
                       target.text));
    }
    const auto it = std::find_if(attributes.begin(), attributes.end(),
                                 [&](const auto& a) { return a.first == target.text; });
    if (it != attributes.end()) {
      it->second = std::move(value);
    } else {
      kept_charge_.grow(sizeof(Value) + target.text.size() + sizeof(std::string));
      attributes.emplace_back(target.text, std::move(value));
    }
    return;
  }
  std::vector<Value> items = iterate(value);
  const std::size_t wanted = target.kids.size();
  if (items.size() < wanted)
    fail(fmt::format("not enough values to unpack (expected {}, got {})", wanted, items.size()));
  if (items.size() > wanted) fail(fmt::format("too many values to unpack (expected {})", wanted));
  for (std::size_t i = 0; i < wanted; ++i) assign(*target.kids[i], std::move(items[i]), scope);
}

void Interpreter::execute_with(const Node& node, Scope& scope) {
  auto inner = std::make_unique<Scope>(&scope);
  for (std::size_t i = 0; i < node.kids.size(); i += 2) {
    assign(*node.kids[i], evaluate(*node.kids[i + 1], scope), *inner);
  }
  execute(node.body, *inner);
  leave(std::move(inner));
}

Value Interpreter::make_macro(const Node& node, Scope& scope) {
  for (Scope* s = &scope; s != nullptr && !s->captured; s = s->parent) s->captured = true;
  auto callable = std::make_shared<Callable>();
  callable->name = node.text;
  callable->macro = &node;
  callable->scope = &scope;
  return Value(std::shared_ptr<const Callable>(std::move(callable)));
}

void Interpreter::execute_call_block(const Node& node, Scope& scope) {
  const Node& call_node = *node.kids[0];
  const Value callee = evaluate(*call_node.kids[0], scope);
  Arguments arguments = evaluate_arguments(call_node, scope);
  arguments.named.emplace_back("caller", make_macro(*node.kids[1], scope));
  print(call(callee, arguments));
}

Value Interpreter::call_macro(const Callable& macro, const Arguments& arguments) {
  const DepthGuard depth(meter_);
  const Node& node = *macro.macro;
  auto scope = std::make_unique<Scope>(macro.scope);
  const std::size_t sites = sites_.size();
  for (const Value& value : arguments.positional) sites_.push_back(value.origin);
  bind_parameters(node, arguments, *scope);
  Capture capture(*this);
  execute(node.body, *scope);
  sites_.resize(sites);
  leave(std::move(scope));
  return make_text(capture.take());
}

void Interpreter::bind_parameters(const Node& macro, const Arguments& arguments, Scope& scope) {
  std::vector<bool> used(arguments.named.size());
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Node::Parameter& parameter = macro.parameters[i];
    const auto it = std::find_if(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& named) { return named.first == parameter.text; });
    if (i < arguments.positional.size()) {
      scope.set(parameter.name, arguments.positional[i]);
    } else if (it != arguments.named.end()) {
      used[static_cast<std::size_t>(it - arguments.named.begin())] = true;
      scope.set(parameter.name, it->second);
    } else if (parameter.fallback) {
      scope.set(parameter.name, evaluate(*parameter.fallback, scope));
    } else {
      scope.set(parameter.name,
                make_undefined(fmt::format("parameter '{}' was not provided", parameter.text)));
    }
  }
  bind_extra(macro, arguments, used, scope);
}

// The implicit variables caller, kwargs and varargs, or errors where the macro does not use them.
void Interpreter::bind_extra(const Node& macro, const Arguments& arguments,
                             const std::vector<bool>& used, Scope& scope) {
  std::vector<std::pair<Value, Value>> extra;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    const auto& [name, value] = arguments.named[i];
    if (name == "caller" && macro.uses_caller) {
      scope.set(program_.find_name("caller"), value);
    } else if (macro.flag) {
      extra.emplace_back(make_text(name, kTemplateOrigin), value);
    } else {
      fail(fmt::format("macro '{}' takes no keyword argument '{}'", macro.text, name));
    }
  }
  const int caller = program_.find_name("caller");
  if (macro.uses_caller && std::none_of(scope.variables.begin(), scope.variables.end(),
                                        [&](const auto& v) { return v.first == caller; })) {
    scope.set(caller, make_undefined("No caller defined"));
  }
  if (macro.flag) scope.set(program_.find_name("kwargs"), make_dict(std::move(extra)));
  const std::size_t taken = std::min(arguments.positional.size(), macro.parameters.size());
  std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                          arguments.positional.end());
  if (macro.uses_varargs) {
    scope.set(program_.find_name("varargs"), make_sequence(std::move(rest), Sequence::Kind::tuple));
  } else if (!rest.empty()) {
    fail(fmt::format("macro '{}' takes not more than {} argument(s)", macro.text,
                     macro.parameters.size()));
  }
}

}  // namespace sightline::chat
