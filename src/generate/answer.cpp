// Decoding, reasoning split and stop texts (answer.hpp).
#include "generate/answer.hpp"

#include <algorithm>
#include <utility>

namespace sightline::generate {

StopMatcher::StopMatcher(std::vector<std::string> stop) : stop_(std::move(stop)) {
  std::erase(stop_, std::string());
}

std::string StopMatcher::push(std::string_view text) {
  held_ += text;
  // The stop text that begins first; of two that begin together the longer one.
  std::size_t at = std::string::npos;
  for (const std::string& stop : stop_) {
    const std::size_t found = held_.find(stop);
    if (found == std::string::npos) continue;
    if (at == std::string::npos || found < at || (found == at && stop.size() > match_.size())) {
      at = found;
      match_ = stop;
    }
  }
  if (at != std::string::npos) {
    std::string before = held_.substr(0, at);
    held_.clear();
    return before;
  }
  // Keep the longest end that is the beginning of a stop text.
  std::size_t keep = 0;
  for (const std::string& stop : stop_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

Answer::Answer(const tokenizer::Tokenizer& tokenizer, AnswerRules rules)
    : rules_(std::move(rules)),
      decoder_(tokenizer, /*skip_special=*/true),
      stop_(rules_.stop),
      in_reasoning_(rules_.reasoning_open),
      at_start_(true),
      answer_trims_start_(rules_.reasoning_open) {}

// Reasoning: newlines at both ends are the template's; those at the end are held back until more
// text comes. Answer: leading newlines after a reasoning are the template's.
std::string Answer::trim_newlines(std::string decoded) {
  const bool trims_start = in_reasoning_ || answer_trims_start_;
  if (at_start_ && trims_start) {
    const std::size_t first = decoded.find_first_not_of('\n');
    decoded.erase(0, std::min(first, decoded.size()));
  }
  if (!decoded.empty()) at_start_ = false;
  if (!in_reasoning_) return decoded;
  decoded.insert(0, newlines_);
  const std::size_t last = decoded.find_last_not_of('\n');
  const std::size_t end = last == std::string::npos ? 0 : last + 1;
  newlines_ = decoded.substr(end);
  decoded.resize(end);
  return decoded;
}

AnswerStep Answer::add(std::string decoded) {
  AnswerStep step;
  step.reasoning = in_reasoning_;
  step.text = trim_newlines(std::move(decoded));
  if (!in_reasoning_) {
    step.text = stop_.push(step.text);
    step.finished = !stop_.match().empty();
  }
  (in_reasoning_ ? reasoning_ : text_) += step.text;
  return step;
}

AnswerStep Answer::feed(std::int32_t id) {
  if (std::find(rules_.end_ids.begin(), rules_.end_ids.end(), id) != rules_.end_ids.end()) {
    AnswerStep step = finish();
    step.finished = true;
    return step;
  }
  const bool opens = !in_reasoning_ && at_start_ && rules_.think_open == id;
  const bool closes = in_reasoning_ && rules_.think_close == id;
  if (!opens && !closes) return add(decoder_.push(id));
  AnswerStep step = add(decoder_.flush());
  newlines_.clear();
  in_reasoning_ = opens;
  at_start_ = true;
  answer_trims_start_ = true;
  return step;
}

AnswerStep Answer::finish() {
  AnswerStep step = add(decoder_.flush());
  if (!in_reasoning_ && !step.finished) {
    const std::string rest = stop_.flush();
    text_ += rest;
    step.text += rest;
  }
  return step;
}

}  // namespace sightline::generate
