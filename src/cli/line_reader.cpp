// libedit, with Ctrl-C as one of its keys.
#include "cli/line_reader.hpp"

#include <histedit.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>

namespace sightline::cli {
namespace {

constexpr int kKeptLines = 1000;

/// While it lives, Ctrl-C and Ctrl-D are keys like others, also when typed just before libedit
/// looks.
class ControlsAreKeys {
 public:
  ControlsAreKeys() : known_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!known_) return;
    termios changed = before_;
    changed.c_cc[VINTR] = changed.c_cc[VEOF] = _POSIX_VDISABLE;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &changed);
  }
  ~ControlsAreKeys() {
    if (known_) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  ControlsAreKeys(const ControlsAreKeys&) = delete;
  ControlsAreKeys& operator=(const ControlsAreKeys&) = delete;

 private:
  termios before_{};
  bool known_;
};

}  // namespace

/// The editor's state; its callbacks find it as libedit's client data.
struct LineReader::Editor {
  Editor();
  ~Editor() {
    el_end(line);
    history_end(history);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  static Editor& of(EditLine* line) {
    void* editor = nullptr;
    (void)el_get(line, EL_CLIENTDATA, &editor);
    return *static_cast<Editor*>(editor);
  }
  static char* show_prompt(EditLine* line) { return of(line).prompt.data(); }
  static unsigned char give_up(EditLine* line, wint_t) {
    of(line).given_up = true;
    return CC_EOF;
  }

  EditLine* line = el_init("sightline", stdin, stdout, stderr);
  History* history = history_init();
  std::string prompt;
  bool given_up = false;
};

LineReader::Editor::Editor() {
  HistEvent event;
  (void)::history(history, &event, H_SETSIZE, kKeptLines);
  (void)el_set(line, EL_CLIENTDATA, this);
  (void)el_set(line, EL_HIST, ::history, history);
  (void)el_set(line, EL_EDITOR, "emacs");
  (void)el_set(line, EL_PROMPT, show_prompt);
  (void)el_set(line, EL_SIGNAL, 1);  // restores the terminal, follows its size
  // The wide call keeps the two names where they are; the narrow one copies and never frees them.
  (void)el_wset(line, EL_ADDFN, L"give-up", L"gives up the line", give_up);
  (void)el_set(line, EL_BIND, "^C", "give-up", nullptr);
  (void)el_set(line, EL_BIND, "^D", "em-delete-or-list", nullptr);  // the end on an empty line
}

LineReader::LineReader() {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) return;
  // Which bytes form a character. In a locale of single bytes libedit drops all others.
  (void)std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) (void)std::setlocale(LC_CTYPE, "C.UTF-8");
  const ControlsAreKeys scope;  // libedit keeps the keys that it finds at its start
  editor_ = std::make_unique<Editor>();
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next(const char* prompt) {
  if (!editor_) return lines_.next();
  editor_->prompt = prompt;
  const ControlsAreKeys scope;
  while (true) {
    editor_->given_up = false;
    int count = 0;
    const char* typed = el_gets(editor_->line, &count);
    if (editor_->given_up) {
      (void)std::fputs("\n", stdout);
      continue;
    }
    if (typed == nullptr || count <= 0) {
      (void)std::fputs("\n", stdout);  // the shell's prompt begins a line
      return std::nullopt;
    }
    std::string text(typed, static_cast<std::size_t>(count));
    if (text.ends_with('\n')) text.pop_back();
    HistEvent event;
    if (!text.empty()) (void)history(editor_->history, &event, H_ENTER, text.c_str());
    return text;
  }
}

}  // namespace sightline::cli
