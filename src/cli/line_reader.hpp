// Lines that a person types, with editing and history, or lines of a pipe. The only user of libedit
// is line_reader.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/input.hpp"

namespace sightline::cli {

class LineReader {
 public:
  /// Editing is on when standard input and standard output are terminals.
  LineReader();
  ~LineReader();

  [[nodiscard]] bool interactive() const { return editor_ != nullptr; }
  /// The next line without its end, or nothing at the end of input. `prompt` is shown only to a
  /// person, for whom Ctrl-C gives up the line and asks for another. History lasts as long as the
  /// process.
  std::optional<std::string> next(const char* prompt);

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;
  StandardInputLines lines_;
};

}  // namespace sightline::cli
