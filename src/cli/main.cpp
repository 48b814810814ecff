// The binary `sightline`: hands the command line to cli/ and returns its exit code. What is left
// here belongs to the process: signals and standard streams.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace {

/// A closed standard stream must not become the number of a file that is opened later.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) {
      (void)open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  // A closed pipe and a full file are errors of write(), handled in output.cpp.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  sightline::cli::Output output(STDOUT_FILENO, STDERR_FILENO,
                                sightline::cli::asks_for_json(arguments));
  return sightline::cli::run_command_line(arguments, sightline::cli::all_commands(), output);
}
