// The state of `sightline chat`: messages so far, pictures and videos that wait for the next
// question, and
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

  /// A picture, or a video (a file or a folder of frames), for the next question, its path made
  /// absolute. Throws Error(file_not_found).
  void attach(const std::string& file, bool video = false);
  [[nodiscard]] std::size_t attached() const { return attached_.size(); }
  /// "1 picture", "2 videos", "1 picture and 1 video"; empty if nothing waits.
  [[nodiscard]] std::string attached_text() const;

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
  struct Attached {
    std::string path;
    bool video = false;
  };
  std::vector<Attached> attached_;
};

}  // namespace sightline::cli
