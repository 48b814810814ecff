// Expressions of the template language, from the inline `if` down to literals. Precedence as in
// jinja2's parser: `~` binds tighter than `+`, filters and tests tighter than every operator but
// the unary ones and `**`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "chat/library.hpp"
#include "chat/parser.hpp"

namespace sightline::chat {

NodePtr ExpressionParser::parse_expression(bool with_condition) {
  const Nesting nesting(*this);
  NodePtr node = parse_or();
  while (with_condition && is_name("if")) {
    NodePtr choice = make(NodeKind::choose, next().line);
    choice->kids.push_back(parse_or());
    choice->kids.push_back(std::move(node));
    choice->kids.push_back(skip_name("else") ? parse_expression() : nullptr);
    node = finish(std::move(choice));
  }
  return node;
}

NodePtr ExpressionParser::parse_binary(NodePtr left, const std::string& op, NodePtr right) const {
  const NodeKind kind = op == "and"  ? NodeKind::and_
                        : op == "or" ? NodeKind::or_
                                     : NodeKind::binary;
  NodePtr node = make(kind, left->line);
  node->text = op;
  node->kids.push_back(std::move(left));
  node->kids.push_back(std::move(right));
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_or() {
  NodePtr left = parse_and();
  while (skip_name("or")) left = parse_binary(std::move(left), "or", parse_and());
  return left;
}

NodePtr ExpressionParser::parse_and() {
  NodePtr left = parse_not();
  while (skip_name("and")) left = parse_binary(std::move(left), "and", parse_not());
  return left;
}

NodePtr ExpressionParser::parse_not() {
  if (!is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  NodePtr node = make(NodeKind::not_, next().line);
  node->kids.push_back(parse_not());
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_compare() {
  constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  NodePtr first = parse_sum();
  NodePtr node = make(NodeKind::compare, first->line);
  node->kids.push_back(std::move(first));
  while (true) {
    if (current().kind == TokenKind::op &&
        std::find(kOperators.begin(), kOperators.end(), current().text) != kOperators.end()) {
      node->operators.push_back(next().text);
    } else if (skip_name("in")) {
      node->operators.emplace_back("in");
    } else if (is_name("not") && look().kind == TokenKind::name && look().text == "in") {
      next();
      next();
      node->operators.emplace_back("not in");
    } else {
      break;
    }
    node->kids.push_back(parse_sum());
  }
  if (node->operators.empty()) return std::move(node->kids[0]);
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_sum() {
  NodePtr left = parse_concat();
  while (is_op("+") || is_op("-")) {
    const std::string op = next().text;
    left = parse_binary(std::move(left), op, parse_concat());
  }
  return left;
}

NodePtr ExpressionParser::parse_concat() {
  NodePtr first = parse_product();
  if (!is_op("~")) return first;
  NodePtr node = make(NodeKind::concat, first->line);
  node->kids.push_back(std::move(first));
  while (skip_op("~")) node->kids.push_back(parse_product());
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_product() {
  NodePtr left = parse_power();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    const std::string op = next().text;
    left = parse_binary(std::move(left), op, parse_power());
  }
  return left;
}

NodePtr ExpressionParser::parse_power() {
  NodePtr left = parse_unary();
  while (skip_op("**")) left = parse_binary(std::move(left), "**", parse_unary());
  return left;
}

NodePtr ExpressionParser::parse_unary(bool with_filter) {
  NodePtr node;
  if (is_op("-") || is_op("+")) {
    const Nesting nesting(*this);
    const Token sign = next();
    node = make(sign.text == "-" ? NodeKind::negate : NodeKind::plus, sign.line);
    node->kids.push_back(parse_unary(false));
    node = finish(std::move(node));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_expression(std::move(node)) : std::move(node);
}

NodePtr ExpressionParser::parse_primary(bool with_namespace) {
  const Token token = current();
  switch (token.kind) {
    case TokenKind::name:
      return parse_name(with_namespace);
    case TokenKind::integer:
    case TokenKind::real:
      return parse_number();
    case TokenKind::string: {
      std::string text;
      while (current().kind == TokenKind::string) text += next().text;
      NodePtr node = make(NodeKind::constant, token.line);
      node->constant = make_constant(text);
      return node;
    }
    case TokenKind::op:
      if (token.text == "(") return parse_parentheses();
      if (token.text == "[") return parse_list();
      if (token.text == "{") return parse_dict();
      break;
    default:
      break;
  }
  fail("expected an expression, found " + found());
}

NodePtr ExpressionParser::parse_name(bool with_namespace) {
  const Token token = next();
  const std::string& text = token.text;
  NodePtr node = make(NodeKind::constant, token.line);
  if (text == "true" || text == "True" || text == "false" || text == "False") {
    node->constant = Value(text == "true" || text == "True");
    return node;
  }
  if (text == "none" || text == "None") {
    node->constant = Value(None{});
    return node;
  }
  node->kind = NodeKind::name;
  node->name = intern(text);
  if (with_namespace && skip_op(".")) {
    node->kind = NodeKind::namespace_target;
    node->text = expect_name();
    return node;
  }
  node->text = text;
  use_.varargs = use_.varargs || text == "varargs";
  use_.kwargs = use_.kwargs || text == "kwargs";
  use_.caller = use_.caller || text == "caller";
  return node;
}

NodePtr ExpressionParser::parse_number() {
  const Token token = next();
  NodePtr node = make(NodeKind::constant, token.line);
  const char* const end = token.text.data() + token.text.size();
  if (token.kind == TokenKind::real) {
    double value = 0;
    const auto result = std::from_chars(token.text.data(), end, value);
    if (result.ec == std::errc::result_out_of_range) {
      value =
          token.text.find("e-") != std::string::npos || token.text.find("E-") != std::string::npos
              ? 0
              : HUGE_VAL;
    }
    node->constant = Value(value);
    return node;
  }
  const char prefix = token.text.size() > 2 ? static_cast<char>(token.text[1] | 0x20) : '0';
  const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
  std::int64_t value = 0;
  const auto result = std::from_chars(token.text.data() + (base == 10 ? 0 : 2), end, value, base);
  if (result.ec != std::errc() || result.ptr != end)
    fail("the number " + token.text + " is not supported", token.line);
  node->constant = Value(value);
  return node;
}

NodePtr ExpressionParser::parse_parentheses() {
  const int line = next().line;
  if (skip_op(")")) return make(NodeKind::tuple, line);
  NodePtr node = parse_tuple();
  expect_op(")");
  return node;
}

NodePtr ExpressionParser::parse_tuple(bool with_condition, std::string_view end_name) {
  const Nesting nesting(*this);
  const auto ends = [&] {
    return current().kind == TokenKind::variable_end || current().kind == TokenKind::block_end ||
           is_op(")") || (!end_name.empty() && is_name(end_name));
  };
  NodePtr first = parse_expression(with_condition);
  if (!is_op(",")) return first;
  NodePtr tuple = make(NodeKind::tuple, first->line);
  tuple->kids.push_back(std::move(first));
  while (skip_op(",") && !ends()) tuple->kids.push_back(parse_expression(with_condition));
  return finish(std::move(tuple));
}

NodePtr ExpressionParser::parse_target(bool with_namespace, std::string_view end_name) {
  const Nesting nesting(*this);
  const auto parse_one = [&]() -> NodePtr {
    const int line = current().line;
    if (skip_op("(")) {
      NodePtr inner = parse_target(with_namespace);
      expect_op(")");
      return inner;
    }
    if (current().kind != TokenKind::name) fail("cannot assign to " + found());
    NodePtr node = parse_primary(with_namespace);
    if (node->kind != NodeKind::name && node->kind != NodeKind::namespace_target) {
      fail("cannot assign to a constant", line);
    }
    return node;
  };
  NodePtr first = parse_one();
  if (!is_op(",")) return first;
  NodePtr tuple = make(NodeKind::tuple, first->line);
  tuple->kids.push_back(std::move(first));
  while (skip_op(",")) {
    if (is_op("=") || is_op(")") || current().kind == TokenKind::block_end ||
        (!end_name.empty() && is_name(end_name)))
      break;
    tuple->kids.push_back(parse_one());
  }
  return finish(std::move(tuple));
}

NodePtr ExpressionParser::parse_list() {
  NodePtr node = make(NodeKind::list, next().line);
  while (!is_op("]")) {
    if (!node->kids.empty()) expect_op(",");
    if (is_op("]")) break;
    node->kids.push_back(parse_expression());
  }
  expect_op("]");
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_dict() {
  NodePtr node = make(NodeKind::dict, next().line);
  while (!is_op("}")) {
    if (!node->kids.empty()) expect_op(",");
    if (is_op("}")) break;
    node->kids.push_back(parse_expression());
    expect_op(":");
    node->kids.push_back(parse_expression());
  }
  expect_op("}");
  return finish(std::move(node));
}

NodePtr ExpressionParser::parse_postfix(NodePtr node) {
  while (true) {
    if (is_op(".") || is_op("[")) {
      node = parse_subscript(std::move(node));
    } else if (is_op("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

NodePtr ExpressionParser::parse_filter_expression(NodePtr node) {
  while (true) {
    if (is_op("|")) {
      node = parse_filters(std::move(node));
    } else if (is_name("is")) {
      node = parse_test(std::move(node));
    } else if (is_op("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

NodePtr ExpressionParser::parse_subscript(NodePtr object) {
  const Token token = next();
  if (token.text == ".") {
    NodePtr node = make(NodeKind::attribute, token.line);
    node->kids.push_back(std::move(object));
    if (current().kind == TokenKind::integer) {
      node->kind = NodeKind::item;
      node->kids.push_back(parse_number());
    } else {
      node->text = expect_name();
    }
    return finish(std::move(node));
  }
  if (is_op("]")) fail("expected a key or an index, found ']'");
  NodePtr key = parse_subscribed();
  if (is_op(",")) fail("a tuple as a key is not supported");
  expect_op("]");
  const bool open_slice = key->kind == NodeKind::slice && key->kids.size() == 3;
  NodePtr node = open_slice ? std::move(key) : make(NodeKind::item, token.line);
  node->kids.insert(node->kids.begin(), std::move(object));
  if (key) node->kids.push_back(std::move(key));
  return finish(std::move(node));
}

// A key, or a slice node that still lacks its object.
NodePtr ExpressionParser::parse_subscribed() {
  const int line = current().line;
  NodePtr start = is_op(":") ? nullptr : parse_expression();
  if (!skip_op(":")) return start;
  NodePtr node = make(NodeKind::slice, line);
  const auto bound = [&]() -> NodePtr {
    return is_op(":") || is_op("]") || is_op(",") ? nullptr : parse_expression();
  };
  node->kids.push_back(std::move(start));
  node->kids.push_back(bound());
  node->kids.push_back(skip_op(":") ? bound() : nullptr);
  return node;
}

NodePtr ExpressionParser::parse_call(NodePtr callee) {
  NodePtr node = make(NodeKind::call, current().line);
  node->kids.push_back(std::move(callee));
  parse_arguments(*node);
  return finish(std::move(node));
}

void ExpressionParser::parse_arguments(Node& node) {
  expect_op("(");
  const int line = current().line;
  bool first = true;
  while (!is_op(")")) {
    if (!std::exchange(first, false)) expect_op(",");
    if (is_op(")")) break;
    const bool named =
        current().kind == TokenKind::name && look().kind == TokenKind::op && look().text == "=";
    if ((is_op("*") && (node.spread_list || node.spread_named)) ||
        ((is_op("**") || named) && node.spread_named) ||
        (!named && !is_op("*") && !is_op("**") &&
         (!node.named.empty() || node.spread_list || node.spread_named))) {
      fail("invalid order of arguments in a call", line);
    }
    if (skip_op("*")) {
      node.spread_list = parse_expression();
    } else if (skip_op("**")) {
      node.spread_named = parse_expression();
    } else if (named) {
      std::string key = next().text;
      next();
      node.named.emplace_back(std::move(key), parse_expression());
    } else {
      node.kids.push_back(parse_expression());
    }
  }
  expect_op(")");
}

NodePtr ExpressionParser::parse_filters(NodePtr input, bool inline_start) {
  while (inline_start || is_op("|")) {
    if (!inline_start) next();
    inline_start = false;
    NodePtr node = make(NodeKind::filter, current().line);
    node->text = expect_name();
    while (skip_op(".")) node->text.append(".").append(expect_name());
    node->function = find_filter(node->text);
    if (node->function == nullptr)
      fail(fmt::format("the filter '{}' is not supported", node->text), node->line);
    node->kids.push_back(std::move(input));
    if (is_op("(")) parse_arguments(*node);
    input = finish(std::move(node));
  }
  return input;
}

// A name behind a test is its argument unless it continues the expression.
bool ExpressionParser::ends_test() const {
  constexpr std::array<std::string_view, 7> kWords = {"else", "or",  "and",      "if",
                                                      "in",   "not", "recursive"};
  return std::find(kWords.begin(), kWords.end(), current().text) != kWords.end();
}

NodePtr ExpressionParser::parse_test(NodePtr input) {
  NodePtr node = make(NodeKind::test, next().line);
  const bool negated = skip_name("not");
  node->text = expect_name();
  while (skip_op(".")) node->text.append(".").append(expect_name());
  node->test_function = find_test(node->text);
  if (node->test_function == nullptr)
    fail(fmt::format("the test '{}' is not supported", node->text), node->line);
  node->kids.push_back(std::move(input));
  const TokenKind kind = current().kind;
  const bool literal = kind == TokenKind::string || kind == TokenKind::integer ||
                       kind == TokenKind::real || is_op("[") || is_op("{") ||
                       (kind == TokenKind::name && !ends_test());
  if (is_op("(")) {
    parse_arguments(*node);
  } else if (literal) {
    if (is_name("is")) fail("tests with 'is' cannot be chained");
    node->kids.push_back(parse_postfix(parse_primary()));
  }
  NodePtr result = finish(std::move(node));
  if (!negated) return result;
  NodePtr inverse = make(NodeKind::not_, result->line);
  inverse->kids.push_back(std::move(result));
  return finish(std::move(inverse));
}

}  // namespace sightline::chat
