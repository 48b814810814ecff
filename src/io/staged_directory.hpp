// A directory that appears under its name only when all its files are there: they are written into
// a temporary neighbour, which is renamed at the end or removed. For one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sightline::io {

class StagedDirectory {
 public:
  /// Creates the temporary neighbour, and the directories above `out`. `out` must not exist, or be
  /// an empty directory, or a link to one. Throws Error(file_unwritable).
  explicit StagedDirectory(const std::string& out);
  /// Removes the temporary neighbour unless it has been committed.
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  /// Where the file `name` is to be written.
  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  /// Throws Error(file_unwritable) if the disk has fewer free bytes.
  void check_space(std::int64_t bytes) const;
  /// Gives the directory its name. Throws Error(file_unwritable).
  void commit();

 private:
  std::filesystem::path out_, path_;
  bool committed_ = false;
};

}  // namespace sightline::io
