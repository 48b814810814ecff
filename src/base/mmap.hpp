// A file's bytes, read-only: mapped, or read into memory. Owns them; moves, does not copy.
// The bytes stay valid while the object lives. Threads may read them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sightline {

class FileBytes {
 public:
  /// Up to the end of the file.
  static constexpr std::int64_t kToEnd = -1;

  FileBytes() = default;
  /// Maps `length` bytes from `offset` (any byte, no page alignment needed). Throws
  /// Error(file_not_found) or Error(file_unreadable), also if the range does not lie in the file.
  static FileBytes map(const std::string& path, std::int64_t offset = 0,
                       std::int64_t length = kToEnd);
  /// The same range, read into memory of its own. Throws Error(memory_limit) too.
  static FileBytes read(const std::string& path, std::int64_t offset = 0,
                        std::int64_t length = kToEnd);
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// `length` bytes from `offset` within bytes(). Throws Error(file_unreadable) naming the file if
  /// they are not there.
  [[nodiscard]] std::span<const std::byte> range(std::int64_t offset, std::int64_t length) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* base_ = nullptr;       ///< start of the mapping (page-aligned) or of the memory
  std::size_t base_size_ = 0;  ///< bytes mapped; 0 if the memory was allocated
};

/// Lets whole pages of a mapped file within these bytes leave memory; they come back from the file
/// when they are read. Only for bytes of FileBytes::map().
void forget_pages(const std::byte* data, std::int64_t bytes) noexcept;

}  // namespace sightline
