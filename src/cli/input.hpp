// Standard input for commands: as one text, or line by line. One reader per process.
#pragma once

#include <optional>
#include <string>

#include "cli/output.hpp"

namespace sightline::cli {

/// What errors call it.
inline constexpr const char* kStandardInput = "standard input";

/// Everything up to the end. Says what it waits for when standard input is a terminal. Throws
/// Error(file_unreadable), Error(file_too_large).
std::string read_standard_input(Output& output, const char* what);

/// Lines of standard input without their line ends; the last one may lack it.
class StandardInputLines {
 public:
  /// The next line, or nothing at the end. Throws Error(file_unreadable), Error(file_too_large).
  std::optional<std::string> next();
  /// Number of the line that next() gave last, from 1.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  bool fill();

  std::string buffer_;
  std::size_t start_ = 0, number_ = 0;
  bool ended_ = false;
};

}  // namespace sightline::cli
