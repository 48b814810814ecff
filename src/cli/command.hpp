// What a command of the binary is: its words for people (summary, options, examples) and what it
// does. A command is a value that one function makes; the parser (command_line.hpp) and the help
// page (help.hpp) read it. Uses sightline/error.hpp only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sightline/error.hpp"

namespace sightline::cli {

class Output;

/// Bounds of a number, both included.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};
inline constexpr Range kNotNegative{0, std::numeric_limits<double>::infinity()};
inline constexpr Range kPositive{1, std::numeric_limits<double>::infinity()};

/// Text of an option to its value. `option` is what the error calls it. Throw
/// Error(invalid_option) "OPTION: expected …, found …".
std::int64_t parse_integer(const std::string& option, const std::string& text, Range range);
std::uint64_t parse_unsigned(const std::string& option, const std::string& text);
double parse_number(const std::string& option, const std::string& text, Range range);

/// One option or positional argument.
struct Argument {
  std::string names;  ///< "-i,--image", or "MODEL" for a positional
  std::string value;  ///< what follows, for help ("FILE"); empty: a flag
  std::string help;
  std::string group = {};  ///< heading on the help page
  bool positional = false, required = false, repeated = false;
  /// Called for every occurrence, in order, with the text given (empty for a flag).
  std::function<void(const std::string&)> set = {};
};

struct Example {
  std::string command, comment;
};

class Command {
 public:
  using Action = std::function<int(Output&)>;

  Command(std::string name, std::string summary)
      : name_(std::move(name)), summary_(std::move(summary)) {}

  /// Paragraphs above the options of the help page.
  Command& description(std::string text) {
    description_ = std::move(text);
    return *this;
  }
  /// Heading of the options that follow.
  Command& group(std::string title) {
    group_ = std::move(title);
    return *this;
  }
  Command& example(std::string command, std::string comment) {
    examples_.push_back({std::move(command), std::move(comment)});
    return *this;
  }
  /// What the command does; returns the exit code.
  Command& action(Action action) {
    action_ = std::move(action);
    return *this;
  }

  /// A required or optional positional argument.
  Command& positional(std::string name, std::string& target, std::string help, bool required);
  Command& positional(std::string name, std::optional<std::string>& target, std::string help);
  Command& positionals(std::string name, std::vector<std::string>& target, std::string help,
                       bool required = true);

  /// A flag: sets `target` to `value`.
  template <class T>
  Command& flag(std::string names, T& target, std::string help, bool value = true) {
    return add({std::move(names), "", std::move(help), group_, false, false, false,
                [&target, value](const std::string&) { target = value; }});
  }

  /// An option with a value, "--top-k N": string, number, or a list of strings (repeatable). The
  /// last occurrence holds.
  template <class T>
  Command& option(const std::string& names_and_value, T& target, std::string help,
                  Range range = {});

  /// An option that may be repeated; `take` sees each value, in the order of the command line, also
  /// among those of other such options.
  Command& each(const std::string& names_and_value, std::function<void(const std::string&)> take,
                std::string help);

  /// An option that takes one of a few words; with a value in brackets ("--cap [on|off]") it may
  /// stand alone, which means "true".
  template <class T>
  Command& choice(const std::string& names_and_value, T& target,
                  std::vector<std::pair<std::string, std::type_identity_t<T>>> words,
                  std::string help);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  [[nodiscard]] const std::vector<Example>& examples() const { return examples_; }
  [[nodiscard]] int run(Output& output) const { return action_(output); }

 private:
  Command& add(Argument argument) {
    arguments_.push_back(std::move(argument));
    return *this;
  }

  std::string name_, summary_, description_, group_ = "Options";
  std::vector<Argument> arguments_;
  std::vector<Example> examples_;
  Action action_;
};

/// Throws Error(invalid_option) "OPTION: expected one of a, b, found 'x'".
[[noreturn]] void throw_unknown_word(const std::string& option,
                                     const std::vector<std::string>& words,
                                     const std::string& found);

template <class T>
Command& Command::option(const std::string& names_and_value, T& target, std::string help,
                         Range range) {
  const std::size_t blank = names_and_value.find(' ');
  const std::string names = names_and_value.substr(0, blank);
  Argument argument{names, names_and_value.substr(blank + 1), std::move(help), group_};
  argument.repeated = std::is_same_v<T, std::vector<std::string>>;
  const std::string name = names.substr(names.find("--"));
  argument.set = [&target, name, range](const std::string& text) {
    (void)range;
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      target.push_back(text);
    } else if constexpr (std::is_assignable_v<T&, std::string>) {
      target = text;
    } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
      target = parse_number(name, text, range);
    } else if constexpr (std::is_same_v<T, std::optional<std::uint64_t>>) {
      target = parse_unsigned(name, text);
    } else {
      target = parse_integer(name, text, range);
    }
  };
  return add(std::move(argument));
}

template <class T>
Command& Command::choice(const std::string& names_and_value, T& target,
                         std::vector<std::pair<std::string, std::type_identity_t<T>>> words,
                         std::string help) {
  const std::size_t blank = names_and_value.find(' ');
  const std::string names = names_and_value.substr(0, blank);
  Argument argument{names, names_and_value.substr(blank + 1), std::move(help), group_};
  const std::string name = names.substr(names.find("--"));
  argument.set = [&target, name, words = std::move(words)](const std::string& text) {
    std::vector<std::string> known;
    for (const auto& [word, value] : words) {
      if (word == text) {
        target = value;
        return;
      }
      known.push_back(word);
    }
    throw_unknown_word(name, known, text);
  };
  return add(std::move(argument));
}

}  // namespace sightline::cli
