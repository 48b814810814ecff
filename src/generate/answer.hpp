// An answer while it arrives: a state machine fed with token ids that decodes text, splits the
// reasoning from the answer and finds the end. Usable on its own, one per answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/stream_decoder.hpp"
#include "tokenizer/tokenizer.hpp"

namespace sightline::generate {

struct AnswerRules {
  std::vector<std::int32_t> end_ids;  ///< any of them ends the answer
  std::vector<std::string> stop;      ///< texts that end the answer; they are not part of it
  std::optional<std::int32_t> think_open,
      think_close;              ///< ids of <think> and </think>, if the vocabulary has them
  bool reasoning_open = false;  ///< the prompt ends inside the reasoning
};

/// What one token (or the end) adds.
struct AnswerStep {
  std::string text;        ///< complete characters, certain not to be taken back
  bool reasoning = false;  ///< text belongs to the reasoning
  bool finished = false;   ///< an end id or a stop text was reached: feed no more
};

/// Splits off texts that end an answer: holds back what may still become one.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stop);
  /// Adds text; returns what is certain to come before any stop text.
  std::string push(std::string_view text);
  /// The text held back, when no more comes.
  std::string flush();
  [[nodiscard]] const std::string& match() const {
    return match_;
  }  ///< the stop text found, or empty

 private:
  std::vector<std::string> stop_;
  std::string held_, match_;
};

class Answer {
 public:
  Answer(const tokenizer::Tokenizer& tokenizer, AnswerRules rules);

  /// Takes the next id. After a step with `finished` no more ids are taken.
  AnswerStep feed(std::int32_t id);
  /// The answer ends here (length, cancelled): text that was held back.
  AnswerStep finish();

  /// All so far. Reasoning and answer lose the newlines that the template puts around them
  /// (specification 4.3).
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& reasoning() const { return reasoning_; }
  [[nodiscard]] const std::string& stop_match() const { return stop_.match(); }
  [[nodiscard]] bool in_reasoning() const { return in_reasoning_; }

 private:
  AnswerStep add(std::string decoded);
  std::string trim_newlines(std::string decoded);

  AnswerRules rules_;
  tokenizer::StreamDecoder decoder_;
  StopMatcher stop_;
  bool in_reasoning_, at_start_, answer_trims_start_;
  std::string newlines_;  // newlines of the reasoning held back until more of it comes
  std::string text_, reasoning_;
};

}  // namespace sightline::generate
