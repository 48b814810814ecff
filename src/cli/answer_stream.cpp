// Shows tokens as they come.
#include "cli/answer_stream.hpp"

#include <fmt/format.h>

namespace sightline::cli {

std::string progress_text(const Progress& progress) {
  switch (progress.stage) {
    case Progress::Stage::load:
      return "loading the model";
    case Progress::Stage::picture:
      return fmt::format("pictures and frames: {} of {}",
                         std::min(progress.done + 1, progress.total), progress.total);
    case Progress::Stage::prompt:
      return fmt::format("prompt: {} of {} tokens", progress.done, progress.total);
  }
  return {};
}

void AnswerStream::on_progress(const Progress& progress) {
  output_.progress(progress_text(progress));
}

void AnswerStream::on_token(const Token& token) {
  if (quiet_ || token.text.empty()) return;
  if (token.reasoning) {
    if (!output_.shows_progress()) return;
    output_.dimmed(printable(token.text));
    reasoning_shown_ = true;
    return;
  }
  if (reasoning_shown_) output_.notice("\n\n");
  reasoning_shown_ = false;
  output_.write(output_.answers_to_terminal() ? printable(token.text) : token.text);
  output_.flush();
  at_line_start_ = token.text.ends_with('\n');
}

void AnswerStream::finish(const Result& result) {
  output_.progress({});
  if (quiet_) return;
  if (reasoning_shown_) output_.notice("\n");
  if (!at_line_start_ || result.text.empty()) output_.line("");
  output_.flush();
  for (const PictureReport& picture : result.pictures) {
    if (!picture.encoded) continue;  // of an earlier turn, which said it
    for (const std::string& note : picture.notes)
      output_.notice(
          fmt::format("sightline: {}: {}\n", single_line(picture.name), single_line(note)));
  }
  if (result.finish_reason == "length") {
    output_.notice(result.text.empty() && !result.reasoning.empty()
                       ? "sightline: the answer ended inside the reasoning: raise --max-tokens or "
                         "use --no-thinking\n"
                       : fmt::format("sightline: the answer was cut off after {} tokens: raise "
                                     "--max-tokens (or --ctx)\n",
                                     result.token_ids.size()));
  }
  if (result.finish_reason == "cancelled") output_.notice("sightline: cancelled\n");
}

}  // namespace sightline::cli
