// Options of commands that hold a conversation: what is asked (question, pictures, messages file),
// how the template renders it, how the answer is chosen. They fill a Request of the library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

/// A picture or a video of a question.
struct QuestionVisual {
  std::string path;
  bool video = false;
};

/// A question in one of its forms.
struct QuestionOptions {
  std::optional<std::string> question, messages;
  std::vector<QuestionVisual> visuals;  ///< in the order of the command line
};

/// What belongs to a request besides the conversation itself.
struct ConversationOptions {
  std::optional<std::string> system, tools, kwargs;  ///< tools: a file; kwargs: JSON text
  std::optional<bool> thinking;
  bool add_vision_id = false;
  Sampling sampling;
  std::int64_t max_tokens = Request{}.max_tokens;
  int logprobs = 0;
  std::vector<std::string> stop;
};

/// QUESTION, --image, --video, --messages.
void add_question_options(Command& command, QuestionOptions& options);
/// --system, --thinking, --no-thinking, --tools, --kwargs, --add-vision-id.
void add_template_options(Command& command, ConversationOptions& options);
/// --max-tokens, --stop, sampling, --logprobs.
void add_answer_options(Command& command, ConversationOptions& options);

/// A request with everything but messages. Reads the tools file.
Request make_request(const ConversationOptions& options);
/// make_request() with the conversation: the pictures and the question in one user message, or the
/// messages file. `-` reads standard input. Throws Error(usage) when the options contradict or
/// nothing is asked; `command` is named in the message.
Request make_request(const ConversationOptions& options, const QuestionOptions& question,
                     const char* command, Output& output);

}  // namespace sightline::cli
