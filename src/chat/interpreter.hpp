// Runs a Program: one Interpreter is one rendering, on one thread. Scopes live as long as their
// block, longer when a macro was defined in them; namespaces and such scopes belong to the
// interpreter. Library functions get values, attributes, calls and errors through it.
#pragma once

#include <ctime>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/ast.hpp"

namespace sightline::chat {

/// Variables of one block; names not found here are looked up in `parent`.
struct Scope {
  explicit Scope(Scope* outer) : parent(outer) {}
  Scope* parent;
  std::vector<std::pair<int, Value>> variables;
  bool captured = false;  ///< a macro refers to it

  void set(int name, Value value);
};

class Interpreter {
 public:
  /// `parts` are the origins of the input values (for errors); `now` is what strftime_now formats.
  Interpreter(const Program& program, Meter& meter, const std::vector<SourcePart>& parts,
              std::time_t now)
      : program_(program),
        meter_(meter),
        parts_(parts),
        now_(now),
        out_(meter),
        kept_charge_(meter) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Renders with these variables. Throws Error(template_error, template_limit).
  Text run(std::vector<std::pair<int, Value>> variables);

  // For the library of filters, tests, methods and functions.
  [[nodiscard]] Meter& meter() { return meter_; }
  [[nodiscard]] std::time_t now() const { return now_; }
  /// Error(template_error) with template name and line in front of `message`.
  [[noreturn]] void fail(const std::string& message) const;
  /// The same for what the template itself raises: `message` verbatim.
  [[noreturn]] void raise(const std::string& message) const;
  /// Fails with the reason of an undefined value; does nothing for others.
  void require_defined(const Value& value) const;

  Value make_text(Text text, bool markup = false);
  Value make_text(std::string_view bytes, Origin origin) { return make_text(Text(bytes, origin)); }
  Value make_sequence(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list,
                      Origin origin = kTemplateOrigin);
  Value make_dict(std::vector<std::pair<Value, Value>> items, Origin origin = kTemplateOrigin);
  /// The same for keys that are strings and known to be different.
  Value make_json_dict(std::vector<std::pair<Value, Value>> items, Origin origin);
  Value make_namespace(std::vector<std::pair<std::string, Value>> attributes);
  static Value make_undefined(std::string reason);

  /// `object.name`: methods first, then members, as in jinja2's sandbox; Undefined when there is
  /// none.
  Value attribute(const Value& object, std::string_view name);
  /// `object[key]`: members first, then methods; Undefined when there is none.
  Value item(const Value& object, const Value& key);
  Value call(const Value& callee, const Arguments& arguments);
  /// The elements of a sequence, keys of a dict, characters of a string; fails for what Python
  /// cannot iterate over.
  std::vector<Value> iterate(const Value& value);
  /// Python's str(value).
  Text to_text(const Value& value);
  /// Calls the recursive loop again with other items: loop(items).
  Value recurse(const Loop& loop, const Value& items);

 private:
  enum class Flow : std::uint8_t { next, break_loop, continue_loop };
  friend class Capture;

  Flow execute(const std::vector<NodePtr>& body, Scope& scope);
  Flow execute(const Node& node, Scope& scope);
  Flow execute_for(const Node& node, const Value& iterable, Scope& scope, std::size_t depth0);
  std::vector<Value> loop_items(const Node& node, const Value& iterable, Scope& scope);
  void execute_with(const Node& node, Scope& scope);
  void execute_call_block(const Node& node, Scope& scope);
  Text captured(const std::vector<NodePtr>& body, Scope& scope);
  void assign(const Node& target, Value value, Scope& scope);
  void print(const Value& value);

  Value evaluate(const Node& node, Scope& scope);
  Value evaluate_node(const Node& node, Scope& scope);
  Value evaluate_name(const Node& node, const Scope& scope) const;
  Value evaluate_items(const Node& node, Scope& scope);
  Value evaluate_slice(const Node& node, Scope& scope);
  Value evaluate_call(const Node& node, Scope& scope);
  Value evaluate_filter(const Node& node, Scope& scope);
  bool evaluate_test(const Node& node, Scope& scope);
  Value evaluate_compare(const Node& node, Scope& scope);
  Value evaluate_concat(const Node& node, Scope& scope);
  Value evaluate_choice(const Node& node, Scope& scope);
  Arguments evaluate_arguments(const Node& node, Scope& scope);

  Value call_macro(const Callable& macro, const Arguments& arguments);
  void bind_parameters(const Node& macro, const Arguments& arguments, Scope& scope);
  void bind_extra(const Node& macro, const Arguments& arguments, const std::vector<bool>& used,
                  Scope& scope);
  Value make_macro(const Node& node, Scope& scope);
  Value loop_attribute(const Value& object, const Loop& loop, std::string_view name);
  Value method(const Value& object, std::string_view name) const;

  void leave(std::unique_ptr<Scope> scope);
  [[noreturn]] void fail_with(const std::string& text, const std::string& message) const;

  /// What has been printed so far, with its bytes accounted.
  struct Output {
    explicit Output(Meter& meter) : charge(meter) {}
    void append(const Text& more);
    Text text;
    Charge charge;
  };

  const Program& program_;
  Meter& meter_;
  const std::vector<SourcePart>& parts_;
  std::time_t now_;
  int line_ = 1;
  Output out_;
  Charge kept_charge_;
  std::vector<Origin>
      sites_;  // items of the running loops and arguments of the running macros: where an error is
  Value block_input_;  // what a set or filter block captured
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  std::vector<std::unique_ptr<Scope>> kept_;
};

/// The arguments of a library function by parameter, as Python binds them; fails for too many or
/// unknown ones.
class Bound {
 public:
  Bound(Interpreter& vm, const char* function, const Arguments& arguments,
        std::initializer_list<const char*> names);
  /// nullptr when not given.
  [[nodiscard]] const Value* get(std::size_t i) const { return values_[i]; }
  const Value& need(std::size_t i) const;
  [[nodiscard]] std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  [[nodiscard]] bool flag(std::size_t i, bool fallback) const;
  /// A str argument; `fallback` when absent or None.
  [[nodiscard]] Text text(std::size_t i, std::string_view fallback) const;

 private:
  Interpreter& vm_;
  const char* function_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

}  // namespace sightline::chat
