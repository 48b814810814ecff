// The syntax tree of a template. One node type for all kinds: the table says which fields a kind
// uses. Immutable after parsing, shared by all renderings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/value.hpp"

namespace sightline::chat {

// Fields: `kids` in the order given; an optional kid may be null.
enum class NodeKind : std::uint8_t {
  // Statements
  data,          // constant: template text
  print,         // kids: expression
  if_else,       // kids: condition; body, other (an elif is one if_else in `other`)
  for_loop,      // kids: target, iterable, filter (optional); body, other; flag: recursive
  set,           // kids: target, value
  set_block,     // kids: target, filter chain (optional, innermost input is `block_input`); body
  with,          // kids: target, value, target, value, …; body
  macro,         // name, text; parameters; body; flags
  call_block,    // kids: call, macro (the body as `caller`)
  filter_block,  // kids: filter chain; body
  scope,         // body: {% generation %}
  break_loop,
  continue_loop,
  // Expressions
  constant,         // constant
  name,             // name
  list,             // kids
  tuple,            // kids
  dict,             // kids: key, value, key, value, …
  attribute,        // kids: object; text
  item,             // kids: object, key
  slice,            // kids: start, stop, step (each optional)
  call,             // kids: callee, positional…; named, spread
  filter,           // kids: input, positional…; text, function, named, spread
  test,             // kids: input, positional…; text, test_function, named, spread
  block_input,      // the captured text of a set or filter block
  not_,             // kids: operand
  negate,           // kids: operand
  plus,             // kids: operand
  binary,           // kids: left, right; text: + - * / // % **
  concat,           // kids: the parts of a ~ b ~ c
  compare,          // kids: first, then one for each operator; operators
  and_,             // kids: left, right
  or_,              // kids: left, right
  choose,           // kids: condition, value, other (optional)
  namespace_target  // name, text: ns.attribute as the target of set
};

using TestFunction = bool (*)(Interpreter&, const Value& input, const Arguments&);

struct Node {
  struct Parameter {
    int name;
    std::string text;
    std::unique_ptr<Node> fallback;  ///< default value, may be null
  };

  NodeKind kind;
  int line = 0;
  std::size_t depth = 1;  ///< height of the tree below, kept at most kMaxSyntaxDepth
  int name = -1;          ///< index in Program::names
  bool flag = false;      ///< for_loop: recursive; macro: uses `kwargs`
  bool uses_varargs = false;
  bool uses_caller = false;
  std::string text;
  Value constant;
  Function function = nullptr;
  TestFunction test_function = nullptr;
  std::vector<std::unique_ptr<Node>> kids;
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> named;
  std::unique_ptr<Node> spread_list;   ///< *expression in a call
  std::unique_ptr<Node> spread_named;  ///< **expression in a call
  std::vector<std::string> operators;
  std::vector<Parameter> parameters;
  std::vector<std::unique_ptr<Node>> body;
  std::vector<std::unique_ptr<Node>> other;
};

using NodePtr = std::unique_ptr<Node>;

/// A parsed template: its statements and the names that it uses.
struct Program {
  std::string name;  ///< what errors call the template
  std::vector<std::string> names;
  std::unordered_map<std::string, int> name_index;
  std::vector<NodePtr> body;

  /// Index of a name in `names`, -1 if the template does not use it.
  [[nodiscard]] int find_name(std::string_view text) const;
};

}  // namespace sightline::chat
