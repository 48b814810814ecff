// Text of an answer while its ids arrive: a state machine over bytes.
// One per answer, used by one thread; the tokenizer must outlive it.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/token_id.hpp"

namespace sightline::tokenizer {

class Tokenizer;

/// Turns ids into text piece by piece. A piece never ends inside a UTF-8 character; bytes that can
/// not become one come out as U+FFFD at once. All pieces and flush() together are
/// Tokenizer::decode() of all ids.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  /// The text that `id` completes; may be empty. Unknown ids give nothing.
  std::string push(TokenId id);
  /// Ends the answer: U+FFFD if a character was left unfinished, else nothing. The decoder is as
  /// new afterwards.
  std::string flush();
  /// Bytes held back, at most 3: the beginning of a character.
  [[nodiscard]] std::string_view pending() const noexcept { return pending_; }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace sightline::tokenizer
