// Reading and writing whole files with named errors (file.hpp). Knows POSIX files and nothing of
// their content.
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "io/staged_file.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace fs = std::filesystem;
namespace {

// An open file, closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  bool close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::string reason(int error_number) { return std::generic_category().message(error_number); }

[[noreturn]] void fail_read(const std::string& path, const std::string& why) {
  throw Error(Code::file_unreadable, fmt::format("{}: cannot be read: {}", path, why),
              {{"file", path}});
}

[[noreturn]] void fail_write(const std::string& path, const std::string& why) {
  throw Error(Code::file_unwritable, fmt::format("{}: cannot be written: {}", path, why),
              {{"file", path}});
}

[[noreturn]] void fail_size(const std::string& path, std::size_t max_bytes) {
  throw Error(Code::file_too_large,
              fmt::format("{}: expected at most {} bytes, found more", path, max_bytes),
              {{"file", path}, {"max_bytes", std::to_string(max_bytes)}});
}

[[noreturn]] void fail_kind(const std::string& path, const char* kind) {
  throw Error(Code::file_unreadable, fmt::format("{}: expected a file, found {}", path, kind),
              {{"file", path}});
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Opens without waiting for the writer of a pipe and accepts regular files and pipes only.
Descriptor open_readable(const std::string& path) {
  if (path.empty())
    throw Error(Code::file_not_found, "'': expected the name of a file, found an empty one",
                {{"file", path}});
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw Error(Code::file_not_found, fmt::format("{}: no such file", path), {{"file", path}});
    }
    fail_read(path, reason(errno));
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) fail_read(path, reason(errno));
  if (S_ISFIFO(status.st_mode)) {
    if (::fcntl(file.number(), F_SETFL, O_RDONLY) != 0) fail_read(path, reason(errno));
  } else if (!S_ISREG(status.st_mode)) {
    fail_kind(path, kind_of(status.st_mode));
  }
  return file;
}

bool write_all(int number, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A device or a pipe (/dev/stdout) takes the bytes as they come; it must not be renamed over.
void write_through(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !write_all(file.number(), bytes) || !file.close()) {
    fail_write(path, reason(errno));
  }
}

}  // namespace

std::string read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file = open_readable(path);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) fail_read(path, reason(errno));
  const auto declared = static_cast<std::uint64_t>(status.st_size);
  if (declared > max_bytes) fail_size(path, max_bytes);

  // The declared size is a hint: files under /proc declare none, others may grow meanwhile.
  constexpr std::size_t kStep = 65536;
  std::string bytes;
  std::size_t used = 0;
  bytes.resize(static_cast<std::size_t>(declared) + 1);
  for (;;) {
    if (used == bytes.size()) bytes.resize(used + std::max(kStep, used / 2));
    const ssize_t count = ::read(file.number(), bytes.data() + used, bytes.size() - used);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) fail_read(path, reason(errno));
    if (count > 0) used += static_cast<std::size_t>(count);
    if (used > max_bytes) fail_size(path, max_bytes);
  }
  bytes.resize(used);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (fs::is_directory(status)) fail_write(path, "expected a file, found a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_through(path, bytes);

  StagedFile file(path);
  file.append(bytes);
  file.commit();
}

bool is_file(const std::string& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

bool has_file(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) return false;
  if (fs::is_regular_file(status)) return true;
  fail_kind(path, fs::is_directory(status) ? "a directory" : "a device or a pipe");
}

}  // namespace sightline::io
