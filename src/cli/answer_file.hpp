// The file that answers of a run are appended to. Held exclusively while open.
#pragma once

#include <string>
#include <string_view>

namespace sightline::cli {

class AnswerFile {
 public:
  /// Opens or creates the file for appending and locks it. Throws Error(file_unwritable), also for
  /// a device or pipe.
  explicit AnswerFile(const std::string& path);
  ~AnswerFile();
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;

  /// Appends a line in one write. Throws Error(file_unwritable).
  void append(std::string_view line) const;
  /// Cuts the file to `bytes`.
  void cut(std::size_t bytes) const;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int fd_;
};

}  // namespace sightline::cli
