// libedit's readline interface.
#include "cli/line_reader.hpp"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <memory>

namespace sightline::cli {

LineReader::LineReader() : interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
  if (!interactive_) return;
  (void)std::setlocale(LC_CTYPE, "");  // which bytes form a character, for the cursor
  static std::string name = "sightline";
  rl_readline_name = name.data();
  using_history();
}

std::optional<std::string> LineReader::next(const char* prompt) {
  if (!interactive_) return lines_.next();
  const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt), &std::free);
  if (!line) return std::nullopt;
  std::string text = line.get();
  if (!text.empty()) add_history(text.c_str());
  return text;
}

}  // namespace sightline::cli
