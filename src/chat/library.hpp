// What templates can call: filters, tests, methods of strings, lists and dicts, global functions.
// Each table is one .cpp.
#pragma once

#include <string_view>

#include "chat/ast.hpp"

namespace sightline::chat {

/// The filter with this name, or nullptr. Filters take the value left of `|` as `self`. jinja2:
/// FILTERS.
Function find_filter(std::string_view name);
/// Part of the table: filters on strings and numbers, filters on sequences, filters that apply
/// other filters and tests.
Function find_text_filter(std::string_view name);
Function find_sequence_filter(std::string_view name);
Function find_selection_filter(std::string_view name);

/// The test with this name, or nullptr. jinja2: TESTS.
TestFunction find_test(std::string_view name);

/// The method of a value of this type, or nullptr. Only methods that change nothing exist, as in
/// the immutable sandbox.
Function find_method(const Value& value, std::string_view name);
/// True for a method that exists in Python but changes its object.
bool is_forbidden_method(const Value& value, std::string_view name);

/// range, namespace, dict, raise_exception, strftime_now; nullptr for other names.
Function find_global(std::string_view name);

}  // namespace sightline::chat
