// Writing to file descriptors completely, and the few terminal sequences that are used.
#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sightline/error.hpp"

namespace sightline::cli {
namespace {

constexpr std::size_t kKeptBytes = 64 * 1024;
constexpr std::string_view kDim = "\x1b[2m", kPlain = "\x1b[0m", kClearLine = "\r\x1b[K";

/// Writes everything; 0, or the errno of the failure.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// https://no-color.org: set and not empty means no colour.
bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

}  // namespace

Output::Output(int out_fd, int error_fd, bool json)
    : out_fd_(out_fd),
      error_fd_(error_fd),
      json_(json),
      out_terminal_(isatty(out_fd) == 1),
      error_terminal_(isatty(error_fd) == 1),
      colour_wanted_(colour_wanted()) {}

void Output::write(std::string_view text) {
  kept_ += text;
  if (kept_.size() >= kKeptBytes) flush();
}

void Output::line(std::string_view text) {
  write(text);
  write("\n");
}

void Output::flush() {
  progress({});
  const std::string text = std::exchange(kept_, {});
  const int error = write_all(out_fd_, text);
  if (error == EPIPE) throw BrokenPipe();
  if (error != 0) {
    throw Error(Code::file_unwritable,
                fmt::format("standard output: cannot be written: {}", std::strerror(error)));
  }
}

void Output::notice(std::string_view text) {
  if (!kept_.empty()) flush();
  progress({});
  write_error(text);
}

void Output::dimmed(std::string_view text) {
  if (text.empty()) return;
  notice(error_terminal_ && colour_wanted_ ? fmt::format("{}{}{}", kDim, text, kPlain)
                                           : std::string(text));
}

void Output::progress(std::string_view text) {
  if (!error_terminal_ || (text.empty() && !progress_shown_)) return;
  write_error(fmt::format("{}{}", kClearLine, text));
  progress_shown_ = !text.empty();
}

void Output::write_error(std::string_view text) const { (void)write_all(error_fd_, text); }

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool second_set = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
    if (second_set) byte = static_cast<unsigned char>(text[++i]);
    if (second_set || byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t')) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string single_line(std::string_view text) {
  std::string line;
  for (const char c : printable(text)) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\x09";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace sightline::cli
