// An append-only file by its descriptor.
#include "cli/answer_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sightline/error.hpp"

namespace sightline::cli {
namespace {

constexpr int kMode = 0644;

}  // namespace

AnswerFile::AnswerFile(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, kMode)) {
  if (fd_ < 0) fail("cannot be opened for writing");
  struct stat status{};
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    errno = ESPIPE;  // what is written there cannot be read again
    fail("is no file, answers there could not be resumed");
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(fd_);
    errno = error;
    fail("is being written by another run");
  }
}

AnswerFile::~AnswerFile() { ::close(fd_); }

void AnswerFile::append(std::string_view line) const {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AnswerFile::cut(std::size_t bytes) const {
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) fail("cannot be cut to its whole lines");
}

void AnswerFile::fail(const char* what) const {
  throw Error(Code::file_unwritable, fmt::format("{}: {}: {}", path_, what, std::strerror(errno)),
              {{"file", path_}});
}

}  // namespace sightline::cli
