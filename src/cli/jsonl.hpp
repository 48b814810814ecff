// Many requests from a file, one answer line each, resumable: answers are appended one whole line
// at a time, and what the output already answers is skipped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/conversation_options.hpp"
#include "cli/output.hpp"
#include "io/json.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

class AnswerFile;

class JsonlRun {
 public:
  /// Reads the requests (`-`: standard input) and what `out` already answers. A last line of `out`
  /// without its line end is the rest of a run that was killed: it is removed. Throws
  /// Error(invalid_json) if `out` holds something else, Error(file_unwritable) if it is in use by
  /// another run, Error(invalid_messages) for an id that occurs twice.
  JsonlRun(const std::string& file, const std::optional<std::string>& out,
           const ConversationOptions& defaults, Output& output);
  ~JsonlRun();

  /// Requests without an answer.
  [[nodiscard]] std::size_t pending() const { return requests_.size(); }

  /// Answers them in order; a request that fails gets an answer line with "error" and does not stop
  /// the others. Returns the exit code: that of the first failure, or 130 after an interrupt (the
  /// answer under way is not written). `stats`: also write the figures of every answer.
  int run(const Engine& engine, const EngineOptions* stats, Output& output) const;

 private:
  struct Line {
    std::size_t index = 0;
    std::string where, text;
    io::Json id;
  };
  void read_requests(const std::string& text, const std::string& name);
  void drop_answered(const std::string& out);
  /// What is said about an answer besides its line.
  struct Shown {
    std::function<void(const Result&)> result;
    std::function<void(const Error&)> error;
  };
  /// The answer line; nothing if it was cancelled.
  std::optional<io::Json> answer(Session& session, const Line& line, const OnProgress& on_progress,
                                 const Shown& shown) const;
  void write(const io::Json& answer, Output& output) const;
  /// Says how far it came after an interrupt; the exit code.
  int cancelled(std::size_t answered, Output& output) const;

  ConversationOptions defaults_;
  std::string base_directory_;
  std::vector<Line> requests_;
  std::unique_ptr<AnswerFile> file_;
};

}  // namespace sightline::cli
