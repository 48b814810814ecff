// The state of `sightline chat`: messages so far, pictures that wait for the next question, and
// what the slash commands do with them. Knows nothing of terminals.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

class ChatHistory {
 public:
  /// `system` may be empty.
  explicit ChatHistory(std::string system);

  /// A picture for the next question, its path made absolute. Throws Error(file_not_found).
  void attach(const std::string& file);
  [[nodiscard]] std::size_t attached() const { return pictures_.size(); }

  /// The messages with this question and the pictures that waited for it (which it takes along).
  io::Json ask(const std::string& question);
  /// Keeps the question asked last together with its answer.
  void answer(const Result& result);

  /// Back to the system message.
  void reset();
  /// Takes the place of everything so far.
  void replace(io::Json messages);
  [[nodiscard]] const io::Json& messages() const { return messages_; }

 private:
  std::string system_;
  io::Json messages_ = io::Json::array(), asked_;
  std::vector<std::string> pictures_;
};

}  // namespace sightline::cli
