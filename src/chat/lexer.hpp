// Cuts a template into tokens as Jinja2 does: white space control, trim_blocks and lstrip_blocks
// on, raw blocks, comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/error.hpp"

namespace sightline::chat {

enum class TokenKind : std::uint8_t {
  data,            ///< template text, white space control applied
  variable_begin,  ///< {{
  variable_end,    ///< }}
  block_begin,     ///< {%
  block_end,       ///< %}
  name,
  string,  ///< unescaped
  integer,
  real,
  op,
  end
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

/// Error(invalid_template) with name and line of the template.
[[noreturn]] void fail_syntax(const std::string& name, int line, const std::string& what);

/// All tokens of `source` (valid UTF-8), the last one `end`. Throws Error(invalid_template).
/// jinja2: Lexer.tokeniter and Lexer.wrap, with trim_blocks and lstrip_blocks.
std::vector<Token> tokenize_template(std::string_view source, const std::string& name);

}  // namespace sightline::chat
