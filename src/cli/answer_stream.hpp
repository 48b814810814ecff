// An answer as it is shown while it is written: the text on standard output, reasoning and progress
// on standard error when that is a terminal. One per answer.
#pragma once

#include "cli/output.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

/// "loading", "picture 2 of 3", "prompt: 512 of 1200 tokens": a progress line.
std::string progress_text(const Progress& progress);

class AnswerStream {
 public:
  /// With `quiet` nothing of the answer is written (--json writes the whole result at the end).
  AnswerStream(Output& output, bool quiet) : output_(output), quiet_(quiet) {}

  void on_progress(const Progress& progress);
  void on_token(const Token& token);
  /// Ends the answer's line, and says on standard error what the text alone would hide: what is
  /// wrong with a picture or video (once), that the answer was cut off, or never left the
  /// reasoning.
  void finish(const Result& result);

 private:
  Output& output_;
  bool quiet_;
  bool reasoning_shown_ = false, at_line_start_ = true;
};

}  // namespace sightline::cli
