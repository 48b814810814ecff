// Lays out help pages from what the commands declare.
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/table.hpp"

namespace sightline::cli {
namespace {

constexpr std::size_t kOptionColumn = 30;  // where the words about an option start
constexpr std::size_t kCommandColumn = 13;

constexpr std::string_view kOverviewTail = R"(
MODEL is a checkpoint directory, the word 'demo' (the small checkpoint that comes with sightline;
write ./demo for a directory of that name), or a repository id such as Qwen/Qwen3.5-2B that lies in
the Hugging Face cache of this machine. Nothing is ever downloaded. Where no weights are needed
(inspect, graph, plan, synth), a published size of 'sightline models' is a MODEL too.

Every command takes --help and --json. Answers go to standard output; progress, reasoning and
statistics to standard error. An error is one line on standard error, with --json an object
{"error": {"code", "message", "context"}} on standard output.

Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 bad input, 4 bad checkpoint, 5 a limit,
70 internal error, 130 interrupted.

Examples:
  sightline run demo -i picture.png "What colour is the circle?"
  sightline run --help
)";

/// A line end and the blanks that the next line starts with.
std::string new_line(std::size_t indent) {
  std::string text(1, '\n');
  text.append(indent, ' ');
  return text;
}

std::string usage_line(const Command& command) {
  std::string text = fmt::format("Usage: sightline {}", command.name());
  for (const Argument& argument : command.arguments()) {
    if (!argument.positional) continue;
    std::string word = argument.names + (argument.repeated ? "..." : "");
    text += argument.required ? " " + word : " [" + word + "]";
  }
  return text + " [OPTION]...\n";
}

void append_argument(std::string& page, const Argument& argument) {
  std::string left = fmt::format("  {}", argument.names);
  const std::size_t comma = left.find(',');
  if (comma != std::string::npos) left.insert(comma + 1, 1, ' ');
  if (!argument.value.empty()) left += " " + argument.value;
  if (left.size() + 2 > kOptionColumn) {
    left += new_line(kOptionColumn);
  } else {
    left.resize(kOptionColumn, ' ');
  }
  const std::string repeat = argument.repeated && !argument.positional ? " Repeatable." : "";
  page += left + wrapped(argument.help + repeat, kOptionColumn, kOptionColumn) + "\n";
}

std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const Argument& argument : command.arguments()) {
    if (std::find(groups.begin(), groups.end(), argument.group) == groups.end()) {
      groups.push_back(argument.group);
    }
  }
  return groups;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t first_column, std::size_t indent,
                    std::size_t columns) {
  std::string result;
  std::size_t column = first_column;
  bool line_start = true;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    if (!line_start && column + 1 + display_width(word) > columns) {
      result += new_line(indent);
      column = indent;
      line_start = true;
    }
    if (!line_start) {
      result += ' ';
      ++column;
    }
    result += word;
    column += display_width(word);
    line_start = false;
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') {
      result += new_line(text.substr(end + 1).empty() ? 0 : indent);
      column = indent;
      line_start = true;
    }
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string help_page(const Command& command) {
  std::string page = fmt::format("sightline {}: {}\n\n{}\n", command.name(), command.summary(),
                                 usage_line(command));
  if (!command.description().empty()) page += wrapped(command.description(), 0, 0) + "\n\n";
  for (const std::string& group : groups_of(command)) {
    if (!group.empty()) page += wrapped(group, 0, 0) + ":\n";
    for (const Argument& argument : command.arguments()) {
      if (argument.group == group) append_argument(page, argument);
    }
    page += "\n";
  }
  page += "Always:\n";
  append_argument(page, {"--json", "", "Results and errors as JSON on standard output."});
  append_argument(page, {"-h,--help", "", "This page."});
  page += "\nExamples:\n";
  for (const Example& example : command.examples()) {
    page += fmt::format("  # {}\n  {}\n", example.comment, example.command);
  }
  return page;
}

std::string overview_page(const std::vector<Command>& commands) {
  std::string page =
      "sightline: answers questions about pictures and videos with a Qwen3.5 checkpoint, on a "
      "CPU\n\n"
      "Usage: sightline COMMAND [ARGUMENT]...\n\n"
      "Commands:\n";
  for (const Command& command : commands) {
    std::string left = "  " + command.name();
    left.resize(kCommandColumn, ' ');
    page += left + wrapped(command.summary(), kCommandColumn, kCommandColumn) + "\n";
  }
  page += kOverviewTail;
  return page;
}

}  // namespace sightline::cli
