// Values of options: strict numbers and words, every error with what was expected and found.
#include "cli/command.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace sightline::cli {
namespace {

std::string describe(const char* kind, Range range) {
  const bool low = std::isfinite(range.min), high = std::isfinite(range.max);
  if (low && high) return fmt::format("{} from {} to {}", kind, range.min, range.max);
  if (low) return fmt::format("{} of at least {}", kind, range.min);
  if (high) return fmt::format("{} of at most {}", kind, range.max);
  return kind;
}

[[noreturn]] void fail(const std::string& option, const std::string& expected,
                       const std::string& found) {
  throw Error(Code::invalid_option,
              fmt::format("{}: expected {}, found '{}'", option, expected, found),
              {{"option", option}, {"expected", expected}, {"found", found}});
}

template <class T>
bool read_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::int64_t parse_integer(const std::string& option, const std::string& text, Range range) {
  std::int64_t value = 0;
  const bool fits = read_whole(text, value) && static_cast<double>(value) >= range.min &&
                    static_cast<double>(value) <= range.max;
  if (!fits) fail(option, describe("an integer", range), text);
  return value;
}

std::uint64_t parse_unsigned(const std::string& option, const std::string& text) {
  std::uint64_t value = 0;
  if (!read_whole(text, value)) fail(option, "an integer from 0 to 2^64 - 1", text);
  return value;
}

double parse_number(const std::string& option, const std::string& text, Range range) {
  double value = 0;
  const bool fits =
      read_whole(text, value) && std::isfinite(value) && value >= range.min && value <= range.max;
  if (!fits) fail(option, describe("a number", range), text);
  return value;
}

void throw_unknown_word(const std::string& option, const std::vector<std::string>& words,
                        const std::string& found) {
  fail(option, fmt::format("one of {}", fmt::join(words, ", ")), found);
}

Command& Command::positional(std::string name, std::string& target, std::string help,
                             bool required) {
  return add({std::move(name), "", std::move(help), "", true, required, false,
              [&target](const std::string& text) { target = text; }});
}

Command& Command::positional(std::string name, std::optional<std::string>& target,
                             std::string help) {
  return add({std::move(name), "", std::move(help), "", true, false, false,
              [&target](const std::string& text) { target = text; }});
}

Command& Command::positionals(std::string name, std::vector<std::string>& target, std::string help,
                              bool required) {
  return add({std::move(name), "", std::move(help), "", true, required, true,
              [&target](const std::string& text) { target.push_back(text); }});
}

Command& Command::each(const std::string& names_and_value,
                       std::function<void(const std::string&)> take, std::string help) {
  const std::size_t blank = names_and_value.find(' ');
  Argument argument{names_and_value.substr(0, blank), names_and_value.substr(blank + 1),
                    std::move(help), group_};
  argument.repeated = true;
  argument.set = std::move(take);
  return add(std::move(argument));
}

}  // namespace sightline::cli
