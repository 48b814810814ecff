// pread(2), or memory (byte_source.hpp).
#include "video/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/sha256.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::video {
namespace {

[[noreturn]] void fail_read(const std::string& name) {
  throw Error(Code::file_unreadable, fmt::format("{}: cannot be read to its end", name),
              {{"file", name}});
}

}  // namespace

ByteSource ByteSource::file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  const bool regular = file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) {
    if (file >= 0) ::close(file);
    return memory(io::read_file(path));  // says what is wrong, or reads a pipe
  }
  ByteSource source;
  source.file_ = file;
  source.size_ = status.st_size;
  return source;
}

ByteSource ByteSource::memory(std::string bytes) {
  ByteSource source;
  source.size_ = static_cast<std::int64_t>(bytes.size());
  source.bytes_ = std::move(bytes);
  return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : file_(std::exchange(other.file_, -1)), size_(other.size_), bytes_(std::move(other.bytes_)) {}

ByteSource::~ByteSource() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t ByteSource::read(std::int64_t offset, std::uint8_t* out, std::int64_t count) const {
  if (offset < 0 || offset >= size_ || count <= 0) return 0;
  count = std::min(count, size_ - offset);
  if (file_ < 0) {
    std::memcpy(out, bytes_.data() + offset, static_cast<std::size_t>(count));
    return count;
  }
  ssize_t got = 0;
  do {
    got = ::pread(file_, out, static_cast<std::size_t>(count), offset);
  } while (got < 0 && errno == EINTR);
  return got;
}

std::string_view ByteSource::whole(const std::string& name) {
  if (file_ < 0) return bytes_;
  if (size_ > static_cast<std::int64_t>(io::kMaxFileBytes)) {
    throw Error(Code::file_too_large, fmt::format("{}: expected at most {} bytes, found {}", name,
                                                  io::kMaxFileBytes, size_));
  }
  std::string bytes(static_cast<std::size_t>(size_), '\0');
  std::int64_t done = 0;
  while (done < size_) {
    const std::int64_t got =
        read(done, reinterpret_cast<std::uint8_t*>(bytes.data()) + done, size_ - done);
    if (got <= 0) fail_read(name);
    done += got;
  }
  ::close(std::exchange(file_, -1));
  bytes_ = std::move(bytes);
  return bytes_;
}

std::array<std::uint8_t, 32> ByteSource::sha256(const std::string& name) const {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::vector<std::uint8_t> block(kBlock);
  Sha256 hash;
  for (std::int64_t done = 0; done < size_;) {
    const std::int64_t got = read(done, block.data(), static_cast<std::int64_t>(kBlock));
    if (got <= 0) fail_read(name);
    hash.update(block.data(), static_cast<std::size_t>(got));
    done += got;
  }
  return hash.finish();
}

}  // namespace sightline::video
