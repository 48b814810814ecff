// How many tokens of a planned prompt are text: the chat template's own, marks around pictures and
// clips, time stamps, the question. Exact where a tokenizer is at hand, else by the published
// template's count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/plan.hpp"

namespace sightline::audit {

/// What is asked: a text, or how many tokens it has.
struct PlannedQuestion {
  std::optional<std::string> text;
  std::int64_t tokens = 0;  ///< without a text
};

/// Tokens of the prompt that are no placeholders of visuals.
struct PlannedText {
  std::int64_t question = 0;
  std::int64_t wrapping = 0;  ///< template, marks, time stamps
  bool exact = false;         ///< counted with the checkpoint's tokenizer and template
  [[nodiscard]] std::int64_t tokens() const { return question + wrapping; }
};

/// Counts with tokenizer.json and the chat template of `directory`: one user message of the visuals
/// and the question, thinking as the template has it. A clip's stamps are those of frames sampled
/// at 2 a second. Without a directory: the published template, thinking off. Throws
/// Error(missing_file) if a text is to be counted and there is no tokenizer.
PlannedText plan_text(const std::optional<std::string>& directory,
                      const std::vector<PlannedVisual>& visuals, const PlannedQuestion& question);

}  // namespace sightline::audit
