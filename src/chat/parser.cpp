// Statements of the template language.
#include "chat/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sightline::chat {
namespace {

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  void parse_all() {
    program_.body = parse_body({});
    if (current().kind != TokenKind::end) fail("unexpected " + found());
  }

 private:
  using Ends = std::vector<std::string_view>;

  // Statements up to a tag whose name is in `ends` (that name is then current) or, without ends, to
  // the end.
  std::vector<NodePtr> parse_body(const Ends& ends) {
    const Nesting nesting(*this);
    std::vector<NodePtr> body;
    while (true) {
      if (current().kind == TokenKind::end) {
        if (!ends.empty())
          fail(fmt::format("unexpected end of the template; looking for {}", list(ends)));
        return body;
      }
      const Token token = next();
      if (token.kind == TokenKind::data) {
        NodePtr node = make(NodeKind::data, token.line);
        node->constant = make_constant(token.text);
        body.push_back(std::move(node));
      } else if (token.kind == TokenKind::variable_begin) {
        NodePtr node = make(NodeKind::print, token.line);
        node->kids.push_back(parse_tuple());
        expect(TokenKind::variable_end, "}}");
        body.push_back(finish(std::move(node)));
      } else {
        if (current().kind == TokenKind::name &&
            std::find(ends.begin(), ends.end(), current().text) != ends.end()) {
          return body;
        }
        parse_statement(body, ends);
        expect(TokenKind::block_end, "%}");
      }
    }
  }

  static std::string list(const Ends& names) { return fmt::format("{}", fmt::join(names, " or ")); }

  // The end of the current tag, then a body up to one of `ends`; with one end the name is consumed
  // too.
  std::vector<NodePtr> parse_block(const Ends& ends) {
    skip_op(":");
    expect(TokenKind::block_end, "%}");
    std::vector<NodePtr> body = parse_body(ends);
    if (ends.size() == 1) next();
    return body;
  }

  void parse_statement(std::vector<NodePtr>& body, const Ends& ends) {
    using Parse = NodePtr (StatementParser::*)();
    constexpr std::pair<std::string_view, Parse> kTags[] = {
        {"set", &StatementParser::parse_set},
        {"if", &StatementParser::parse_if},
        {"for", &StatementParser::parse_for},
        {"macro", &StatementParser::parse_macro},
        {"with", &StatementParser::parse_with},
        {"call", &StatementParser::parse_call_block},
        {"filter", &StatementParser::parse_filter_block},
        {"generation", &StatementParser::parse_generation},
        {"break", &StatementParser::parse_loop_control},
        {"continue", &StatementParser::parse_loop_control}};
    if (current().kind != TokenKind::name) fail("expected the name of a tag, found " + found());
    if (is_name("print")) return parse_print(body);
    const auto* const it = std::find_if(std::begin(kTags), std::end(kTags), [&](const auto& tag) {
      return tag.first == current().text;
    });
    if (it == std::end(kTags)) fail_unknown(ends);
    body.push_back(finish((this->*it->second)()));
  }

  [[noreturn]] void fail_unknown(const Ends& ends) const {
    constexpr std::string_view kUnsupported[] = {"extends", "include", "import", "from",
                                                 "block",   "do",      "trans",  "autoescape"};
    const std::string& tag = current().text;
    if (std::find(std::begin(kUnsupported), std::end(kUnsupported), tag) !=
        std::end(kUnsupported)) {
      fail(fmt::format("the tag '{}' is not supported in chat templates", tag));
    }
    fail(fmt::format("unknown tag '{}'{}", tag, ends.empty() ? "" : "; looking for " + list(ends)));
  }

  NodePtr parse_set() {
    const int line = next().line;
    NodePtr target = parse_target(true);
    if (skip_op("=")) {
      NodePtr node = make(NodeKind::set, line);
      node->kids.push_back(std::move(target));
      node->kids.push_back(parse_tuple());
      return node;
    }
    NodePtr node = make(NodeKind::set_block, line);
    node->kids.push_back(std::move(target));
    node->kids.push_back(is_op("|") ? parse_filters(make(NodeKind::block_input, line)) : nullptr);
    node->body = parse_block({"endset"});
    return node;
  }

  NodePtr parse_if() {
    const Nesting nesting(*this);
    NodePtr node = make(NodeKind::if_else, next().line);
    node->kids.push_back(parse_tuple(false));
    node->body = parse_block({"elif", "else", "endif"});
    if (is_name("elif")) {
      node->other.push_back(finish(parse_if()));
    } else if (next().text == "else") {
      node->other = parse_block({"endif"});
    }
    return node;
  }

  NodePtr parse_for() {
    NodePtr node = make(NodeKind::for_loop, next().line);
    node->kids.push_back(parse_target(false, "in"));
    if (!skip_name("in")) fail("expected 'in', found " + found());
    node->kids.push_back(parse_tuple(false, "recursive"));
    node->kids.push_back(skip_name("if") ? parse_expression() : nullptr);
    node->flag = skip_name("recursive");
    ++loops_;
    node->body = parse_block({"endfor", "else"});
    --loops_;
    if (next().text == "else") node->other = parse_block({"endfor"});
    return node;
  }

  NodePtr parse_with() {
    NodePtr node = make(NodeKind::with, next().line);
    while (current().kind != TokenKind::block_end) {
      if (!node->kids.empty()) expect_op(",");
      node->kids.push_back(parse_target(false));
      expect_op("=");
      node->kids.push_back(parse_expression());
    }
    node->body = parse_block({"endwith"});
    return node;
  }

  void parse_signature(Node& node) {
    expect_op("(");
    while (!is_op(")")) {
      if (!node.parameters.empty()) expect_op(",");
      std::string name = expect_name();
      NodePtr fallback;
      if (skip_op("=")) {
        fallback = parse_expression();
      } else if (!node.parameters.empty() && node.parameters.back().fallback) {
        fail("a parameter without a default follows one with a default");
      }
      const int index = intern(name);
      node.parameters.push_back({index, std::move(name), std::move(fallback)});
    }
    expect_op(")");
  }

  // The body of a macro or call block; notes which of the implicit variables it uses.
  void parse_macro_body(Node& node, std::string_view end) {
    const MacroUse outer = std::exchange(use_, {});
    const int loops = std::exchange(loops_, 0);
    node.body = parse_block({end});
    loops_ = loops;
    node.flag = use_.kwargs;
    node.uses_varargs = use_.varargs;
    node.uses_caller = use_.caller;
    use_ = {use_.varargs || outer.varargs, use_.kwargs || outer.kwargs,
            use_.caller || outer.caller};
  }

  NodePtr parse_macro() {
    NodePtr node = make(NodeKind::macro, next().line);
    node->text = expect_name();
    node->name = intern(node->text);
    parse_signature(*node);
    parse_macro_body(*node, "endmacro");
    return node;
  }

  NodePtr parse_call_block() {
    const int line = next().line;
    NodePtr node = make(NodeKind::call_block, line);
    NodePtr macro = make(NodeKind::macro, line);
    macro->text = "caller";
    if (is_op("(")) parse_signature(*macro);
    node->kids.push_back(parse_expression());
    if (node->kids[0]->kind != NodeKind::call) fail("expected a call", line);
    parse_macro_body(*macro, "endcall");
    node->kids.push_back(finish(std::move(macro)));
    return node;
  }

  NodePtr parse_filter_block() {
    NodePtr node = make(NodeKind::filter_block, next().line);
    node->kids.push_back(parse_filters(make(NodeKind::block_input, node->line), true));
    node->body = parse_block({"endfilter"});
    return node;
  }

  NodePtr parse_generation() {
    NodePtr node = make(NodeKind::scope, next().line);
    const int loops = std::exchange(loops_, 0);
    node->body = parse_block({"endgeneration"});
    loops_ = loops;
    return node;
  }

  NodePtr parse_loop_control() {
    const Token tag = next();
    if (loops_ == 0) fail(fmt::format("'{}' outside a loop", tag.text), tag.line);
    return make(tag.text == "break" ? NodeKind::break_loop : NodeKind::continue_loop, tag.line);
  }

  void parse_print(std::vector<NodePtr>& body) {
    const int line = next().line;
    do {
      NodePtr node = make(NodeKind::print, line);
      node->kids.push_back(parse_expression());
      body.push_back(finish(std::move(node)));
    } while (skip_op(","));
  }

  int loops_ = 0;
};

}  // namespace

int Program::find_name(std::string_view text) const {
  const auto it = name_index.find(std::string(text));
  return it == name_index.end() ? -1 : it->second;
}

Token ParserBase::next() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ParserBase::skip_op(std::string_view op) {
  if (!is_op(op)) return false;
  next();
  return true;
}

bool ParserBase::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

void ParserBase::expect_op(std::string_view op) {
  if (!skip_op(op)) fail(fmt::format("expected '{}', found {}", op, found()));
}

std::string ParserBase::expect_name() {
  if (current().kind != TokenKind::name) fail("expected a name, found " + found());
  return next().text;
}

void ParserBase::expect(TokenKind kind, const char* what) {
  if (current().kind != kind) fail(fmt::format("expected '{}', found {}", what, found()));
  next();
}

std::string ParserBase::found() const {
  switch (current().kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::variable_begin:
      return "'{{'";
    case TokenKind::variable_end:
      return "'}}'";
    case TokenKind::block_begin:
      return "'{%'";
    case TokenKind::block_end:
      return "'%}'";
    case TokenKind::string:
      return "a string";
    case TokenKind::end:
      return "the end of the template";
    default:
      return fmt::format("'{}'", current().text);
  }
}

int ParserBase::intern(const std::string& name) {
  const auto [it, added] =
      program_.name_index.try_emplace(name, static_cast<int>(program_.names.size()));
  if (added) program_.names.push_back(name);
  return it->second;
}

NodePtr ParserBase::make(NodeKind kind, int line) const {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->line = line;
  return node;
}

NodePtr ParserBase::finish(NodePtr node) const {
  std::size_t depth = 0;
  const auto visit = [&](const NodePtr& child) {
    if (child) depth = std::max(depth, child->depth);
  };
  for (const auto* list : {&node->kids, &node->body, &node->other})
    std::for_each(list->begin(), list->end(), visit);
  for (const auto& argument : node->named) visit(argument.second);
  for (const auto& parameter : node->parameters) visit(parameter.fallback);
  visit(node->spread_list);
  visit(node->spread_named);
  node->depth = depth + 1;
  if (node->depth > kMaxSyntaxDepth) {
    throw Error(Code::template_limit,
                fmt::format("{} line {}: nested deeper than {} levels", program_.name, node->line,
                            kMaxSyntaxDepth),
                {{"template", program_.name}, {"line", std::to_string(node->line)}});
  }
  return node;
}

ParserBase::Nesting::Nesting(ParserBase& parser) : parser_(parser) {
  if (parser_.nesting_ >= kMaxSyntaxDepth) {
    throw Error(
        Code::template_limit,
        fmt::format("{} line {}: nested deeper than {} levels", parser_.program_.name,
                    parser_.current().line, kMaxSyntaxDepth),
        {{"template", parser_.program_.name}, {"line", std::to_string(parser_.current().line)}});
  }
  ++parser_.nesting_;
}

Program parse_template(std::string_view source, const std::string& name) {
  if (source.size() > kMaxTemplateBytes) {
    throw Error(Code::template_limit,
                fmt::format("{}: {} bytes, at most {} are accepted", name, source.size(),
                            kMaxTemplateBytes),
                {{"template", name}});
  }
  const std::size_t invalid = find_invalid_utf8(source);
  if (invalid != std::string_view::npos) {
    fail_syntax(
        name,
        1 + static_cast<int>(std::count(
                source.begin(), source.begin() + static_cast<std::ptrdiff_t>(invalid), '\n')),
        fmt::format("byte {} is not UTF-8", invalid));
  }
  Program program;
  program.name = name;
  StatementParser(tokenize_template(source, name), program).parse_all();
  return program;
}

}  // namespace sightline::chat
