// Values of the template interpreter, with Python's types and rules: what is true, equal, smaller,
// how deep, how called. Values are small handles on immutable data shared within one rendering;
// namespaces are the one mutable thing. Each value knows the origin of what it was made from, so
// that printing a number of the user's keeps the user's origin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chat/meter.hpp"
#include "chat/text.hpp"

namespace sightline::chat {

class Interpreter;
struct Arguments;
struct Dict;
struct Loop;
struct Namespace;
struct Node;
struct Callable;
struct Scope;
struct Sequence;

/// A name or attribute that does not exist; using it in more than a test or a print is an error
/// with this reason.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};
struct None {};

/// A string on the heap. `markup` marks what went through `safe` or `escape`: adding to it escapes
/// the other side.
struct String {
  Text text;
  bool markup = false;
  Charge charge;
};

/// One value: what Python would hold, and where it came from.
struct Value {
  using Data =
      std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const String>,
                   std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, Namespace*,
                   std::shared_ptr<Loop>, std::shared_ptr<const Callable>>;
  Data data;
  Origin origin = kTemplateOrigin;

  Value() = default;
  Value(Data value, Origin from = kTemplateOrigin) : data(std::move(value)), origin(from) {}

  template <typename T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(data);
  }
  [[nodiscard]] bool is_undefined() const { return is<Undefined>(); }
  [[nodiscard]] bool is_none() const { return is<None>(); }
  [[nodiscard]] bool is_bool() const { return is<bool>(); }
  [[nodiscard]] bool is_int() const { return is<std::int64_t>(); }
  [[nodiscard]] bool is_real() const { return is<double>(); }
  [[nodiscard]] bool is_number() const { return is_bool() || is_int() || is_real(); }
  [[nodiscard]] bool is_string() const { return is<std::shared_ptr<const String>>(); }
  [[nodiscard]] bool is_sequence() const { return is<std::shared_ptr<const Sequence>>(); }
  [[nodiscard]] bool is_dict() const { return is<std::shared_ptr<const Dict>>(); }

  // Access to a value whose type has been checked.
  [[nodiscard]] const Text& text() const {
    return std::get<std::shared_ptr<const String>>(data)->text;
  }
  [[nodiscard]] const std::string& bytes() const { return text().bytes(); }
  [[nodiscard]] bool markup() const {
    return std::get<std::shared_ptr<const String>>(data)->markup;
  }
  [[nodiscard]] const Sequence& sequence() const {
    return *std::get<std::shared_ptr<const Sequence>>(data);
  }
  [[nodiscard]] const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data); }
  /// Integers and bools as integers.
  [[nodiscard]] std::int64_t integer() const {
    return is_bool() ? std::int64_t{std::get<bool>(data)} : std::get<std::int64_t>(data);
  }
  [[nodiscard]] double real() const {
    return is_real() ? std::get<double>(data) : static_cast<double>(integer());
  }
};

/// list, tuple, and the read-only things that Python iterates over; they differ in spelling and in
/// a few tests.
struct Sequence {
  enum class Kind : std::uint8_t { list, tuple, generator, range, keys, values, items };
  Kind kind = Kind::list;
  std::vector<Value> items;
  std::size_t depth = 1;  ///< 1 for a flat list
  Charge charge;
};

/// dict: keys in order of insertion; equal keys (1 and True) are one.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  std::size_t depth = 1;
  Charge charge;

  [[nodiscard]] const Value* find(std::string_view key) const;
};

/// namespace(...): owned by the interpreter, changed by `set ns.name = …`.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  Charge charge;
};

/// The `loop` variable.
struct Loop {
  std::vector<Value> items;
  std::size_t index0 = 0;
  std::size_t depth0 = 0;  ///< levels of recursive loops above
  std::size_t value_depth = 1;
  Value last_changed;  ///< of loop.changed(...); cleared when the loop ends
  bool changed_called = false;
  const Node* recursive = nullptr;  ///< the `for … recursive` statement while the loop runs
  Scope* outer = nullptr;
  Charge charge;
};

/// Positional and named arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

using Function = Value (*)(Interpreter&, const Value& self, const Arguments&);

/// A global function, a method bound to its object, or a macro with the scope that it was defined
/// in.
struct Callable {
  std::string name;
  Function function = nullptr;
  Value self;
  const Node* macro = nullptr;
  Scope* scope = nullptr;  ///< kept alive by the interpreter
};

/// Python's type name ("str", "dict", …) for messages.
const char* type_name(const Value& value);
/// Python's truth value.
bool is_true(const Value& value);
/// Python's `==`.
bool equal(Meter& meter, const Value& a, const Value& b);
/// -1, 0, 1; false in `comparable` when Python would raise a TypeError.
int compare(Meter& meter, const Value& a, const Value& b, bool& comparable);
/// How deep containers nest in this value: 0 for scalars.
std::size_t depth_of(const Value& value);

/// String from constant text of the template or of the interpreter.
Value make_constant(std::string_view bytes);

}  // namespace sightline::chat
