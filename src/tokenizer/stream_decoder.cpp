// Holds back an unfinished character, replaces what can not become one.
#include "tokenizer/stream_decoder.hpp"

#include <utility>

#include "tokenizer/tokenizer.hpp"
#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {

std::string StreamDecoder::push(TokenId id) {
  std::string text;
  if (skip_special_ && tokenizer_->is_special(id)) return text;
  pending_.append(tokenizer_->bytes(id));
  std::size_t done = 0;
  while (done < pending_.size()) {
    const Utf8Step step = utf8_step(pending_, done);
    if (step.kind == Utf8::incomplete) break;
    text.append(step.kind == Utf8::character ? std::string_view(pending_).substr(done, step.length)
                                             : kReplacement);
    done += step.length;
  }
  pending_.erase(0, done);
  return text;
}

std::string StreamDecoder::flush() {
  return std::exchange(pending_, {}).empty() ? std::string() : std::string(kReplacement);
}

}  // namespace sightline::tokenizer
