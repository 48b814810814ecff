// Parses a template into a Program: expressions and statements of Jinja2, loop controls and {%
// generation %} included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/ast.hpp"
#include "chat/lexer.hpp"

namespace sightline::chat {

/// Throws Error(invalid_template) with the line and what is wrong or unsupported,
/// Error(template_limit) for a template that is too large or nests too deep. jinja2: Parser.parse.
Program parse_template(std::string_view source, const std::string& name);

/// Tokens with one of lookahead, the table of names, and the checks that every node goes through.
/// ExpressionParser and StatementParser build on it.
class ParserBase {
 public:
  ParserBase(std::vector<Token> tokens, Program& program)
      : tokens_(std::move(tokens)), program_(program) {}

 protected:
  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& look() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  Token next();
  [[nodiscard]] bool is_op(std::string_view op) const {
    return current().kind == TokenKind::op && current().text == op;
  }
  [[nodiscard]] bool is_name(std::string_view name) const {
    return current().kind == TokenKind::name && current().text == name;
  }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  std::string expect_name();
  void expect(TokenKind kind, const char* what);
  [[noreturn]] void fail(const std::string& what) const { fail(what, current().line); }
  [[noreturn]] void fail(const std::string& what, int line) const {
    fail_syntax(program_.name, line, what);
  }
  /// What the current token looks like in a message.
  [[nodiscard]] std::string found() const;

  int intern(const std::string& name);
  [[nodiscard]] NodePtr make(NodeKind kind, int line) const;
  /// Sets the node's depth from its children; throws when it passes kMaxSyntaxDepth.
  NodePtr finish(NodePtr node) const;

  /// Counts nested calls of the parser itself.
  class Nesting {
   public:
    explicit Nesting(ParserBase& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ParserBase& parser_;
  };

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t nesting_ = 0;

 protected:
  Program& program_;
};

/// The expression grammar. jinja2: Parser.parse_expression and below.
class ExpressionParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

 protected:
  NodePtr parse_expression(bool with_condition = true);
  /// One expression, or a tuple when commas follow. `end_name` is a name that ends it ("in",
  /// "recursive").
  NodePtr parse_tuple(bool with_condition = true, std::string_view end_name = {});
  /// What may stand left of `=` or after `for`: names, tuples of names, with `with_namespace` also
  /// ns.attribute.
  NodePtr parse_target(bool with_namespace, std::string_view end_name = {});
  NodePtr parse_primary(bool with_namespace = false);
  NodePtr parse_postfix(NodePtr node);
  /// `| name(args) | …` applied to `input`; `inline_start` when the first `|` is absent ({% filter
  /// name %}).
  NodePtr parse_filters(NodePtr input, bool inline_start = false);
  NodePtr parse_unary(bool with_filter = true);

  /// Flags of the macro being parsed.
  struct MacroUse {
    bool varargs = false, kwargs = false, caller = false;
  };
  MacroUse use_;

 private:
  NodePtr parse_or();
  NodePtr parse_and();
  NodePtr parse_not();
  NodePtr parse_compare();
  NodePtr parse_sum();
  NodePtr parse_concat();
  NodePtr parse_product();
  NodePtr parse_power();
  NodePtr parse_binary(NodePtr left, const std::string& op, NodePtr right) const;
  NodePtr parse_name(bool with_namespace);
  NodePtr parse_number();
  NodePtr parse_parentheses();
  NodePtr parse_list();
  NodePtr parse_dict();
  NodePtr parse_subscript(NodePtr object);
  NodePtr parse_subscribed();
  NodePtr parse_call(NodePtr callee);
  void parse_arguments(Node& node);
  [[nodiscard]] bool ends_test() const;
  NodePtr parse_test(NodePtr input);
  NodePtr parse_filter_expression(NodePtr node);
};

}  // namespace sightline::chat
