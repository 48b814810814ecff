// `sightline chat` on a terminal. Protects: Ctrl-C never costs the conversation, and what is typed
// arrives whatever the locale says.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "binary.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

/// The binary on a terminal of its own, in the C locale.
class Terminal {
 public:
  explicit Terminal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), binary_path());
    std::vector<char*> argv;
    for (std::string& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<std::string, 2> variables{"LC_ALL=C", "TERM=xterm"};
    const std::array<char*, 3> environment{variables[0].data(), variables[1].data(), nullptr};
    pid_ = forkpty(&screen_, nullptr, nullptr, nullptr);
    if (pid_ != 0) return;
    execve(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  ~Terminal() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    (void)wait();
    close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) {
    ASSERT_EQ(::write(screen_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// Reads the screen on until `text` appears after what was waited for last; false after 20 s.
  bool shows(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (true) {
      const std::size_t at = seen_.find(text);
      if (at != std::string::npos) {
        seen_.erase(0, at + text.size());
        return true;
      }
      pollfd readable{screen_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > end) return false;
      if (poll(&readable, 1, 100) <= 0) continue;
      std::array<char, 4096> block{};
      const ssize_t count = ::read(screen_, block.data(), block.size());
      if (count <= 0) return false;
      seen_.append(block.data(), static_cast<std::size_t>(count));
    }
  }
  /// The exit code; a program that goes on for 20 s more is killed (137).
  int wait() {
    if (pid_ <= 0) return -1;
    (void)shows("\x01");  // never there: reads up to the end of the screen
    int status = 0;
    for (int i = 0; waitpid(pid_, &status, WNOHANG) == 0; ++i) {
      if (i == 100) kill(pid_, SIGKILL);
      usleep(10000);
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int pid_ = -1, screen_ = -1;
  std::string seen_;
};

constexpr const char *kCtrlC = "\x03", *kCtrlD = "\x04";

TEST(Terminal, CtrlCAtThePromptGivesUpTheLineOnly) {
  const Folder folder;
  write_checkpoint(folder);
  Terminal terminal({"chat", folder.path(), "--max-tokens", "2", "--no-thinking"});
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type("a question never as");
  ASSERT_TRUE(terminal.shows("never as"));
  for (int i = 0; i < 2; ++i) {
    terminal.type(kCtrlC);
    ASSERT_TRUE(terminal.shows("\n> "));
  }
  terminal.type("h\xc3\xa9llo\n");
  ASSERT_TRUE(terminal.shows("\n> "));
  terminal.type("/save " + folder.path("talk.json") + "\n");
  ASSERT_TRUE(terminal.shows("saved 2 messages"));
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type(kCtrlD);
  EXPECT_EQ(terminal.wait(), 0);
  const io::Json talk = io::read_json_file(folder.path("talk.json"));
  EXPECT_EQ(talk.as_array()[0].find("content")->as_string(), "h\xc3\xa9llo");
}

TEST(Terminal, CtrlCEndsAnAnswerAndKeepsTheConversation) {
  const Folder folder;
  write_checkpoint(folder);
  Terminal terminal({"chat", folder.path(), "--max-tokens", "4000", "--temperature", "5", "--top-k",
                     "0", "--top-p", "1", "--seed", "1", "--no-thinking"});
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type("Hello\n");
  ASSERT_TRUE(terminal.shows("tokens\r\x1b[K"));  // the prompt's progress, before the answer
  terminal.type(kCtrlC);
  ASSERT_TRUE(terminal.shows("\n> "));
  terminal.type("/save " + folder.path("talk.json") + "\n");
  ASSERT_TRUE(terminal.shows("saved "));
  ASSERT_TRUE(terminal.shows("> "));
  terminal.type(kCtrlD);
  EXPECT_EQ(terminal.wait(), 0);
  const io::Json talk = io::read_json_file(folder.path("talk.json"));
  EXPECT_EQ(talk.as_array()[0].find("content")->as_string(), "Hello");
}

}  // namespace
}  // namespace sightline::e2e
