// The handler does what signal handlers may: it sets a flag and writes one byte to a pipe, on which
// the watching thread waits.
#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sightline/error.hpp"

namespace sightline::cli {
namespace {

constexpr char kSignalByte = 's', kEndByte = 'e';

std::atomic<bool> g_interrupted{false};
std::atomic<int> g_pipe_write{-1};
int g_pipe_read = -1;
struct sigaction g_previous_interrupt, g_previous_terminate, g_previous_hangup;

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void write_byte(char byte) noexcept {
  const int saved = errno;
  while (::write(g_pipe_write.load(), &byte, 1) < 0 && errno == EINTR) {
  }
  errno = saved;
}

extern "C" void on_signal(int signal) {
  if (g_interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    (void)raise(signal);
    return;
  }
  write_byte(kSignalByte);
}

void install(int signal, struct sigaction* previous) {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  (void)sigaction(signal, &action, previous);
}

}  // namespace

InterruptScope::InterruptScope(std::function<void()> on_interrupt)
    : on_interrupt_(std::move(on_interrupt)) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(Code::internal, std::string("no pipe for signals: ") + std::strerror(errno));
  }
  g_pipe_read = ends[0];
  g_pipe_write = ends[1];
  g_interrupted = false;
  watcher_ = std::thread([this] {
    char byte = 0;
    while (true) {
      const ssize_t count = ::read(g_pipe_read, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0 || byte == kEndByte) return;
      on_interrupt_();
    }
  });
  install(SIGINT, &g_previous_interrupt);
  install(SIGTERM, &g_previous_terminate);
  install(SIGHUP, &g_previous_hangup);
  if (g_previous_hangup.sa_handler == SIG_IGN)  // nohup
    (void)sigaction(SIGHUP, &g_previous_hangup, nullptr);
}

InterruptScope::~InterruptScope() {
  (void)sigaction(SIGINT, &g_previous_interrupt, nullptr);
  (void)sigaction(SIGTERM, &g_previous_terminate, nullptr);
  (void)sigaction(SIGHUP, &g_previous_hangup, nullptr);
  write_byte(kEndByte);
  watcher_.join();
  ::close(g_pipe_read);
  ::close(g_pipe_write.exchange(-1));
}

bool InterruptScope::interrupted() const noexcept { return g_interrupted.load(); }

void InterruptScope::clear() noexcept { g_interrupted = false; }

}  // namespace sightline::cli
