// A file that is written piece by piece and appears under its name only when it is whole: the
// pieces go to a temporary neighbour, which is renamed at the end or removed. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sightline::io {

class StagedFile {
 public:
  /// Creates the temporary neighbour; if `path` is a link, that of the file that it points to.
  /// Throws Error(file_unwritable), also if something that is no file has this name.
  explicit StagedFile(const std::string& path);
  /// Removes the temporary file unless it has been committed.
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// Appends bytes. Throws Error(file_unwritable).
  void append(std::string_view bytes);
  /// Writes bytes at `offset` from the start of the file, in any order; what nobody writes reads as
  /// zeros. Not to be mixed with append(). Throws Error(file_unwritable).
  void write_at(std::int64_t offset, std::string_view bytes);
  /// Makes sure that the bytes are on the disk and gives the file its name, replacing one that was
  /// there. Throws Error(file_unwritable).
  void commit();
  /// Where the bytes lie until then; appended bytes can be read back from it.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }

 private:
  [[noreturn]] void fail(int error_number) const;
  std::string path_, target_, temporary_;
  int number_ = -1;  ///< file descriptor
};

}  // namespace sightline::io
