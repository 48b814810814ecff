// Attributes named by a filter's argument ("function.name", 0), as map, selectattr, sort and others
// take them.
#pragma once

#include "chat/interpreter.hpp"

namespace sightline::chat {

/// The item itself without an attribute, else the attribute reached by its dotted path; `fallback`,
/// when given, stands for what is undefined on the way. jinja2: make_attrgetter.
Value key_of(Interpreter& vm, const Value& item, const Value* attribute,
             const Value* fallback = nullptr);

}  // namespace sightline::chat
