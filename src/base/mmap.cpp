// open, fstat, mmap and pread behind FileBytes.
#include "base/mmap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "sightline/error.hpp"

namespace sightline {
namespace {

[[noreturn]] void fail(Code code, const std::string& path, const std::string& reason) {
  throw Error(code, fmt::format("{}: {}", path, reason), {{"file", path}});
}

/// An open file and its size.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) {
      const bool missing = errno == ENOENT || errno == ENOTDIR;
      fail(missing ? Code::file_not_found : Code::file_unreadable, path, std::strerror(errno));
    }
    struct stat status{};
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd_);
      fail(Code::file_unreadable, path, "not a regular file");
    }
    size_ = status.st_size;
  }
  ~OpenFile() { ::close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  int fd_;
  std::int64_t size_ = 0;
};

void check_range(const std::string& path, std::int64_t size, std::int64_t offset,
                 std::int64_t length) {
  if (offset >= 0 && length >= 0 && offset <= size && length <= size - offset) return;
  fail(Code::file_unreadable, path,
       fmt::format("expected {} bytes at offset {}, the file has {}; is it complete?", length,
                   offset, size));
}

std::int64_t resolve_length(std::int64_t size, std::int64_t offset, std::int64_t length) {
  return length == FileBytes::kToEnd ? std::max<std::int64_t>(size - offset, 0) : length;
}

}  // namespace

FileBytes FileBytes::map(const std::string& path, std::int64_t offset, std::int64_t length) {
  const OpenFile file(path);
  length = resolve_length(file.size(), offset, length);
  check_range(path, file.size(), offset, length);
  FileBytes result;
  result.path_ = path;
  if (length == 0) return result;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t start = offset / page * page;
  const auto span = static_cast<std::size_t>(offset - start + length);
  void* base = ::mmap(nullptr, span, PROT_READ, MAP_PRIVATE, file.fd(), start);
  if (base == MAP_FAILED) {
    fail(errno == ENOMEM ? Code::memory_limit : Code::file_unreadable, path,
         fmt::format("mapping {} bytes: {}; --no-mmap reads the file instead", span,
                     std::strerror(errno)));
  }
  result.base_ = base;
  result.base_size_ = span;
  result.data_ = static_cast<const std::byte*>(base) + (offset - start);
  result.size_ = static_cast<std::size_t>(length);
  return result;
}

FileBytes FileBytes::read(const std::string& path, std::int64_t offset, std::int64_t length) {
  const OpenFile file(path);
  length = resolve_length(file.size(), offset, length);
  check_range(path, file.size(), offset, length);
  FileBytes result;
  result.path_ = path;
  if (length == 0) return result;
  const auto size = static_cast<std::size_t>(length);
  auto* memory = static_cast<std::byte*>(::operator new(size, std::nothrow));
  if (memory == nullptr) {
    fail(Code::memory_limit, path, fmt::format("no memory for {} bytes; mapping needs none", size));
  }
  result.base_ = memory;
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.fd(), memory + done, size - done,
                                static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail(Code::file_unreadable, path,
           got < 0 ? std::strerror(errno) : "the file became shorter while it was read");
    }
    done += static_cast<std::size_t>(got);
  }
  result.data_ = memory;
  result.size_ = size;
  return result;
}

FileBytes::~FileBytes() {
  if (base_size_ > 0) {
    ::munmap(base_, base_size_);
  } else if (base_ != nullptr) {
    ::operator delete(base_);
  }
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      base_(std::exchange(other.base_, nullptr)),
      base_size_(std::exchange(other.base_size_, 0)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(base_, other.base_);
  std::swap(base_size_, other.base_size_);
  return *this;
}

std::span<const std::byte> FileBytes::range(std::int64_t offset, std::int64_t length) const {
  check_range(path_, static_cast<std::int64_t>(size_), offset, length);
  return {data_ + offset, static_cast<std::size_t>(length)};
}

void forget_pages(const std::byte* data, std::int64_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes)) / page * page;
  // A hint: where it fails the pages stay, and nothing else changes.
  if (end > begin) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace sightline
