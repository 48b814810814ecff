// Python's operators on values.
#pragma once

#include <optional>
#include <string_view>

#include "chat/interpreter.hpp"

namespace sightline::chat {

/// `a op b` for + - * / // % **.
Value binary_operation(Interpreter& vm, std::string_view op, const Value& a, const Value& b);
/// `a op b` for == != < <= > >= in, "not in".
bool comparison(Interpreter& vm, std::string_view op, const Value& a, const Value& b);
/// `needle in haystack`.
bool contains(Interpreter& vm, const Value& haystack, const Value& needle);
Value negated(Interpreter& vm, const Value& value);

/// Bounds of a slice; absent ones as in Python.
struct SliceBounds {
  std::optional<std::int64_t> start, stop, step;
};
/// `value[start:stop:step]`.
Value slice(Interpreter& vm, const Value& value, const SliceBounds& bounds);

/// `format % arguments` of strings. Supports %s %r %d %i %x %f %e %g %c %% with flags, width and
/// precision.
Value format_percent(Interpreter& vm, const Value& format, const Value& arguments);
/// `format.format(...)` of strings: {} {0} {name} {a.b} {a[0]} and !s !r; format specifications are
/// not supported.
Value format_braces(Interpreter& vm, const Value& format, const Arguments& arguments);

}  // namespace sightline::chat
