// libedit's readline interface.
#include "cli/line_reader.hpp"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <memory>

namespace sightline::cli {
namespace {

volatile std::sig_atomic_t g_given_up = 0;

extern "C" void on_give_up(int) { g_given_up = 1; }

/// While it lives, SIGINT ends the read that libedit waits in (no SA_RESTART).
class GiveUpScope {
 public:
  GiveUpScope() {
    g_given_up = 0;
    struct sigaction action{};
    action.sa_handler = on_give_up;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &previous_);
  }
  ~GiveUpScope() { (void)sigaction(SIGINT, &previous_, nullptr); }
  GiveUpScope(const GiveUpScope&) = delete;
  GiveUpScope& operator=(const GiveUpScope&) = delete;

 private:
  struct sigaction previous_{};
};

}  // namespace

LineReader::LineReader() : interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
  if (!interactive_) return;
  // Which bytes form a character. In a locale of single bytes libedit drops all others.
  (void)std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) (void)std::setlocale(LC_CTYPE, "C.UTF-8");
  static std::string name = "sightline";
  rl_readline_name = name.data();
  using_history();
}

std::optional<std::string> LineReader::next(const char* prompt) {
  if (!interactive_) return lines_.next();
  const GiveUpScope scope;
  while (true) {
    const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt), &std::free);
    if (!line && g_given_up == 0) return std::nullopt;
    if (g_given_up != 0) {
      g_given_up = 0;
      (void)!::write(STDOUT_FILENO, "\n", 1);
      continue;
    }
    std::string text = line.get();
    if (!text.empty()) add_history(text.c_str());
    return text;
  }
}

}  // namespace sightline::cli
