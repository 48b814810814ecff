// Python's string operations on Text, shared by methods and filters.
#pragma once

#include <string_view>

#include "chat/interpreter.hpp"

namespace sightline::chat {

enum class Case : std::uint8_t { upper, lower, title, capitalize, swap };
/// The text in another case; every character keeps its origin.
Text change_case(Interpreter& vm, const Text& text, Case wanted);

/// At most `limit` occurrences of `old` replaced (all, when negative).
Text replace_text(Interpreter& vm, const Text& text, std::string_view old, const Text& replacement,
                  std::int64_t limit);

/// str.split and str.rsplit: at `separator`, or at runs of white space when it is empty.
struct Split {
  std::string_view separator;
  std::int64_t limit = -1;
  bool from_right = false;
};
std::vector<Text> split_text(Interpreter& vm, const Text& text, const Split& how);
std::vector<Text> split_lines(Interpreter& vm, const Text& text, bool keep_ends);

/// The text with `left` and `right` copies of `fill` around it.
Text pad_text(const Text& text, std::size_t left, std::size_t right, const Text& fill);

/// A list of str.
Value list_of(Interpreter& vm, std::vector<Text> texts);

}  // namespace sightline::chat
