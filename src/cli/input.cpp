// Reads file descriptor 0 with read(2).
#include "cli/input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::cli {
namespace {

/// Appends what the next read gives; false at the end.
bool read_more(std::string& text) {
  std::array<char, 65536> block;
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, block.data(), block.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw Error(Code::file_unreadable,
                fmt::format("{}: cannot be read: {}", kStandardInput, std::strerror(errno)));
  }
  text.append(block.data(), static_cast<std::size_t>(count));
  if (text.size() > io::kMaxFileBytes) {
    throw Error(Code::file_too_large, fmt::format("{}: expected at most {} bytes, found more",
                                                  kStandardInput, io::kMaxFileBytes));
  }
  return count > 0;
}

}  // namespace

std::string read_standard_input(Output& output, const char* what) {
  if (isatty(STDIN_FILENO) == 1) {
    output.notice(fmt::format("(reading {} from the terminal; end with Ctrl-D)\n", what));
  }
  std::string text;
  while (read_more(text)) {
  }
  return text;
}

bool StandardInputLines::fill() {
  buffer_.erase(0, start_);
  start_ = 0;
  ended_ = !read_more(buffer_);
  return !ended_;
}

std::optional<std::string> StandardInputLines::next() {
  std::size_t searched = start_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos && !ended_) {
    searched = buffer_.size() - start_;
    fill();
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos && start_ == buffer_.size()) return std::nullopt;
  const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
  std::string line = buffer_.substr(start_, stop - start_);
  start_ = end == std::string::npos ? buffer_.size() : end + 1;
  ++number_;
  return line;
}

}  // namespace sightline::cli
