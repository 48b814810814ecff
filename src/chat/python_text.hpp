// How Python spells values: str, repr and json.dumps, with origins kept.
#pragma once

#include "chat/interpreter.hpp"

namespace sightline::chat {

/// str(value); '' for Undefined.
Text python_str(Interpreter& vm, const Value& value);
/// repr(value).
Text python_repr(Interpreter& vm, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::string indent;  ///< one level; used when `pretty`
  bool pretty = false;
  Text comma = Text(", ");
  Text colon = Text(": ");
};
/// json.dumps(value, …). What spells a value of the user's keeps the user's origin, punctuation and
/// escapes included. Source: specification section 4.2.
Text python_json(Interpreter& vm, const Value& value, const JsonStyle& style);

/// HTML escaping as markupsafe does it.
Text escape_html(Interpreter& vm, const Text& text);

}  // namespace sightline::chat
