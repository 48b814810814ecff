// The parser (CLI11) behind one function, usage errors with suggestions, and the one place where
// errors become exit codes.
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help.hpp"

namespace sightline::cli {
namespace {

[[noreturn]] void fail_usage(const std::string& message, Error::Context context = {}) {
  throw Error(Code::usage, message, std::move(context));
}

std::string suggestion(const std::string& typed, const std::vector<std::string>& words) {
  const std::string word = closest_word(typed, words);
  return word.empty() ? "" : fmt::format("; did you mean '{}'?", word);
}

/// Every dashed spelling of the command's options.
std::vector<std::string> option_words(const Command& command) {
  std::vector<std::string> words{"--help", "--json"};
  for (const Argument& argument : command.arguments()) {
    if (argument.positional) continue;
    const std::size_t comma = argument.names.find(',');
    words.push_back(argument.names.substr(0, comma));
    if (comma != std::string::npos) words.push_back(argument.names.substr(comma + 1));
  }
  return words;
}

void declare(CLI::App& app, const Argument& argument) {
  const bool takes_value = argument.positional || !argument.value.empty();
  const auto receive = [&argument](const CLI::results_t& texts) {
    for (const std::string& text : texts) argument.set(text);
    return true;
  };
  if (!takes_value) {
    app.add_flag_callback(argument.names, [&argument] { argument.set(""); });
    return;
  }
  CLI::Option* option = app.add_option(argument.names, receive);
  option->type_size(1)->required(argument.required);
  option->allow_extra_args(argument.positional && argument.repeated);
  if (argument.positional) {
    option->expected(1, argument.repeated ? CLI::detail::expected_max_vector_size : 1);
  } else {
    option->expected(1);
  }
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Reads the arguments after the command's name into the command's targets.
void parse(const Command& command, const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag();
  for (const Argument& argument : command.arguments()) declare(app, argument);
  app.add_flag_callback("--json", [] {});  // known already, see asks_for_json()
  app.allow_extras();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    fail_usage(fmt::format("{}: {}; see 'sightline {} --help'", command.name(), error.what(),
                           command.name()));
  }
  const std::vector<std::string> extra = app.remaining();
  if (extra.empty()) return;
  const std::string& word = extra.front();
  const bool option = word.size() > 1 && word.front() == '-';
  fail_usage(
      fmt::format("{}: {} '{}'{}; see 'sightline {} --help'", command.name(),
                  option ? "unknown option" : "one argument too many:", word,
                  option ? suggestion(word.substr(0, word.find('=')), option_words(command)) : "",
                  command.name()),
      {{"argument", word}});
}

const Command& find_command(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (command.name() == name) return command;
    names.push_back(command.name());
  }
  fail_usage(fmt::format("'{}' is not a command{}; expected one of {}; see 'sightline --help'",
                         name, suggestion(name, names), fmt::join(names, ", ")),
             {{"command", name}});
}

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// True if a help flag stands before `--`.
bool asks_for_help(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find_if(arguments.begin(), end, is_help) != end;
}

int dispatch(const std::vector<std::string>& arguments, const std::vector<Command>& commands,
             Output& output) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (is_help(first) || (first == "help" && arguments.size() == 1)) {
    output.write(overview_page(commands));
    return arguments.empty() ? exit_code(Domain::usage) : kDone;
  }
  if (first == "help") {
    output.write(help_page(find_command(arguments[1], commands)));
    return kDone;
  }
  const Command& command = find_command(first == "--version" ? "version" : first, commands);
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(rest)) {
    output.write(help_page(command));
    return kDone;
  }
  parse(command, rest);
  return command.run(output);
}

/// report_error() for what can fail itself: a closed pipe ends quietly, a full disk is said on
/// stderr.
int report_last(const Error& error, Output& output) noexcept {
  try {
    const int code = report_error(error, output);
    output.flush();
    return code;
  } catch (const BrokenPipe&) {
    return exit_code(error.domain());
  } catch (const std::exception&) {
    return kInternal;
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments,
                     const std::vector<Command>& commands, Output& output) {
  try {
    const int code = dispatch(arguments, commands, output);
    output.flush();
    return code;
  } catch (const BrokenPipe&) {
    return kDone;
  } catch (const Error& error) {
    return report_last(error, output);
  } catch (const std::bad_alloc&) {
    return report_last(Error(Code::memory_limit, "out of memory"), output);
  } catch (const std::exception& error) {
    return report_last(Error(Code::internal, fmt::format("{}; this is a bug in sightline, please "
                                                         "report it with the command",
                                                         error.what())),
                       output);
  }
}

int report_error(const Error& error, Output& output) {
  if (output.json()) {
    output.line(error_json(error));
  } else {
    output.notice(error_line(error) + "\n");
  }
  return exit_code(error.domain());
}

bool asks_for_json(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

io::Json error_body(const Error& error) {
  io::Json context = io::Json::object();
  for (const auto& [key, value] : error.context()) {
    if (context.find(key) == nullptr) context.add(key, value);
  }
  io::Json body = io::Json::object();
  body.add("code", code_name(error.code()));
  body.add("message", error.what());
  body.add("context", std::move(context));
  return body;
}

std::string error_json(const Error& error) {
  return io::to_json_text(io::Json::Object{{"error", error_body(error)}});
}

std::string error_line(const Error& error) {
  return fmt::format("sightline: {}: {}", code_name(error.code()), single_line(error.what()));
}

std::string closest_word(const std::string& typed, const std::vector<std::string>& words) {
  std::string best;
  std::size_t best_distance = std::min<std::size_t>(3, typed.size() / 2 + 1);
  for (const std::string& word : words) {
    const bool prefix = typed.size() >= 3 && word.starts_with(typed);
    const std::size_t distance = prefix ? 1 : edit_distance(typed, word);
    if (distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace sightline::cli
