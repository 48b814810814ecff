// The only way out for what a command says: answers on standard output, progress and statistics on
// standard error. Knows whether they are terminals, whether colour is wanted (NO_COLOR), and what a
// closed pipe means. Used by one thread at a time.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace sightline::cli {

/// The reader of standard output has gone: end quietly, with exit code 0.
class BrokenPipe : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "standard output was closed"; }
};

class Output {
 public:
  Output(int out_fd, int error_fd, bool json);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The command was given --json.
  [[nodiscard]] bool json() const { return json_; }
  /// Standard output is a terminal.
  [[nodiscard]] bool answers_to_terminal() const { return out_terminal_; }
  /// Standard output may be coloured: a terminal, and nobody asked for none (NO_COLOR, TERM=dumb).
  [[nodiscard]] bool answers_in_colour() const { return out_terminal_ && colour_wanted_; }
  /// Standard error is a terminal: progress and reasoning are shown.
  [[nodiscard]] bool shows_progress() const { return error_terminal_; }

  /// Appends to standard output; kept until flush() or until much has come together. Throws
  /// BrokenPipe, Error(file_unwritable).
  void write(std::string_view text);
  /// write() of the text and a newline.
  void line(std::string_view text);
  void flush();

  /// Text to standard error at once (after what is kept for standard output); a progress line that
  /// stands there is removed first. Failures are ignored: nobody is left to be told.
  void notice(std::string_view text);
  /// notice() in the dimmed colour where colour is wanted.
  void dimmed(std::string_view text);
  /// Replaces the progress line; nothing unless standard error is a terminal. Empty removes it.
  void progress(std::string_view text);

 private:
  void write_error(std::string_view text) const;

  int out_fd_, error_fd_;
  bool json_, out_terminal_, error_terminal_, colour_wanted_;
  bool progress_shown_ = false;
  std::string kept_;
};

/// The text without what moves a cursor or commands a terminal: control characters other than line
/// ends and tabs are escaped. For what a model or a stranger's file says.
std::string printable(std::string_view text);

/// The text on one line that a terminal shows as it is: line ends and control characters escaped.
std::string single_line(std::string_view text);

}  // namespace sightline::cli
