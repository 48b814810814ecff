// The bytes of a clip: a file that is read where it is needed, or memory. A file is never read
// whole. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sightline::video {

class ByteSource {
 public:
  /// Opens a regular file; a pipe is read to its end. Throws Error(file_not_found),
  /// Error(file_unreadable), Error(file_too_large).
  static ByteSource file(const std::string& path);
  static ByteSource memory(std::string bytes);
  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&& other) = delete;
  ~ByteSource();

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Up to `count` bytes from `offset`; 0 at the end, -1 if the file cannot be read.
  std::int64_t read(std::int64_t offset, std::uint8_t* out, std::int64_t count) const;
  /// The bytes, read into memory if they are not there yet. Throws Error(file_unreadable),
  /// Error(file_too_large).
  std::string_view whole(const std::string& name);
  /// SHA-256 of all bytes. Throws Error(file_unreadable).
  [[nodiscard]] std::array<std::uint8_t, 32> sha256(const std::string& name) const;

 private:
  ByteSource() = default;

  int file_ = -1;
  std::int64_t size_ = 0;
  std::string bytes_;
};

}  // namespace sightline::video
