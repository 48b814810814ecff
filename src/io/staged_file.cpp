// Temporary neighbour, fsync, rename (staged_file.hpp).
#include "io/staged_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sightline/error.hpp"

namespace sightline::io {

StagedFile::StagedFile(const std::string& path) : path_(path) {
  if (path.empty())
    throw Error(Code::file_unwritable, "'': expected the name of a file, found an empty one",
                {{"file", path}});
  std::error_code failure;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, failure);
  target_ = failure || resolved.empty() ? path : resolved.string();
  // What stands there may be replaced if it is a file; a device or a pipe would be lost.
  const std::filesystem::file_status there = std::filesystem::status(target_, failure);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw Error(
        Code::file_unwritable,
        fmt::format("{}: cannot be written: expected a file or a new name, found a {}", path_,
                    std::filesystem::is_directory(there) ? "directory" : "device or pipe"),
        {{"file", path_}});
  }
  static std::atomic<unsigned> counter{0};
  temporary_ = fmt::format("{}.{}-{}.part", target_, ::getpid(), counter.fetch_add(1));
  constexpr mode_t kReadWriteForAll = 0666;  // less the umask, as for every new file
  number_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWriteForAll);
  if (number_ < 0) fail(errno);
}

StagedFile::~StagedFile() {
  if (number_ >= 0) ::close(number_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void StagedFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail(errno);
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void StagedFile::write_at(std::int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(number_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno != EINTR) fail(errno);
    if (written <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
}

void StagedFile::commit() {
  if (::fsync(number_) != 0) fail(errno);
  if (::close(std::exchange(number_, -1)) != 0) fail(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void StagedFile::fail(int error_number) const {
  throw Error(Code::file_unwritable,
              fmt::format("{}: cannot be written: {}", path_,
                          std::generic_category().message(error_number)),
              {{"file", path_}});
}

}  // namespace sightline::io
