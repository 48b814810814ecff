// Counting with and without a tokenizer (plan_prompt.hpp).
#include "audit/plan_prompt.hpp"

#include <fmt/format.h>

#include "generate/checkpoint_files.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"
#include "tokenizer/tokenizer.hpp"

namespace sightline::audit {
namespace {

// Time of the first group of a clip sampled at 2 frames a second, and from group to group
// (specification 3.3: the middle of its two frames).
constexpr double kFirstStamp = 0.25, kNextStamp = 1;
constexpr std::int64_t kMarks = 2;  // <|vision_start|> and <|vision_end|>, one token each
// Specification 4.5: <|im_start|> user \n, <|im_end|> \n <|im_start|> assistant \n, and
// <think> \n\n </think> \n\n.
constexpr std::int64_t kPublishedTemplate = 3 + 5 + 4;

std::string stamp_of(std::int64_t group) {
  return fmt::format("<{:.1f} seconds>", kFirstStamp + kNextStamp * static_cast<double>(group));
}

/// "<", each digit, ".", " seconds", ">": the published tokenizer keeps digits apart.
std::int64_t published_stamp_tokens(std::int64_t group) {
  constexpr std::string_view kWord = "seconds";
  return static_cast<std::int64_t>(stamp_of(group).size() - kWord.size());
}

/// Tokens that stand inside the marks of a clip beside its placeholders: for each group a stamp and
/// marks of its own (specification 3.4, mode B).
template <class F>
std::int64_t clip_text(const PlannedVisual& visual, const F& stamp_tokens) {
  std::int64_t tokens = 0;
  if (!visual.video) return tokens;
  for (std::int64_t group = 0; group < visual.grid.t; ++group)
    tokens += stamp_tokens(group) + kMarks;
  return tokens;
}

io::Json message_of(const std::vector<PlannedVisual>& visuals, const std::string& question) {
  io::Json content = question;
  if (!visuals.empty()) {
    content = io::Json::array();
    for (const PlannedVisual& visual : visuals)
      content.push(io::Json::Object{{"type", visual.video ? "video" : "image"}});
    content.push(io::Json::Object{{"type", "text"}, {"text", question}});
  }
  return io::Json::Array{io::Json::Object{{"role", "user"}, {"content", std::move(content)}}};
}

PlannedText exact_text(const std::string& directory, const std::vector<PlannedVisual>& visuals,
                       const PlannedQuestion& question) {
  const auto tokenizer = tokenizer::Tokenizer::load(directory + "/tokenizer.json");
  const auto chat_template = generate::read_chat_template(directory, "");
  const auto& program = generate::require_template(chat_template, directory);
  const auto rendered = [&](const std::string& text) {
    const io::Json messages = message_of(visuals, text);
    const auto encoding = tokenizer.encode(program.render({messages}));
    return static_cast<std::int64_t>(encoding.ids.size());
  };
  PlannedText text{0, rendered(""), true};
  text.question = question.text ? rendered(*question.text) - text.wrapping : question.tokens;
  for (const PlannedVisual& visual : visuals) {
    text.wrapping += clip_text(visual, [&](std::int64_t group) {
      return static_cast<std::int64_t>(tokenizer.encode(stamp_of(group)).size());
    });
    --text.wrapping;  // the placeholder that the template writes
  }
  return text;
}

}  // namespace

PlannedText plan_text(const std::optional<std::string>& directory,
                      const std::vector<PlannedVisual>& visuals, const PlannedQuestion& question) {
  if (directory && io::has_file(*directory + "/tokenizer.json"))
    return exact_text(*directory, visuals, question);
  if (question.text) {
    throw Error(
        Code::missing_file,
        "QUESTION: no tokenizer.json to count its tokens with: expected --tokenizer DIR, or "
        "--tokens N in place of the text");
  }
  PlannedText text{question.tokens, kPublishedTemplate, false};
  for (const PlannedVisual& visual : visuals)
    text.wrapping += kMarks + clip_text(visual, published_stamp_tokens);
  return text;
}

}  // namespace sightline::audit
