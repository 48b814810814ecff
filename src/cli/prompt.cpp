// `sightline prompt`: what the model would receive, without weights, so that the cost of a question
// is known before it is asked.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/conversation_options.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/prompt_report.hpp"
#include "generate/prompt.hpp"

namespace sightline::cli {
namespace {

struct PromptOptions {
  ModelOptions model;
  QuestionOptions question;
  ConversationOptions conversation;
};

int prompt(const PromptOptions& options, Output& output) {
  const Request request = make_request(options.conversation, options.question, "prompt", output);
  const auto builder =
      generate::PromptBuilder::open(options.model.directory(), options.model.engine);
  const generate::Prompt prompt = builder.build(request);
  if (output.json()) {
    output.line(io::to_json_text(prompt_json(prompt)));
  } else {
    output.write(prompt_table(prompt, builder.tokenizer()));
  }
  return 0;
}

}  // namespace

Command prompt_command() {
  auto options = std::make_shared<PromptOptions>();
  Command command("prompt", "tokens, pictures, videos and positions of a prompt, without weights");
  command.description(
      "Shows what the model would receive: tokens per picture and video, which frames of a video "
      "at which times, where the placeholders stand and "
      "which part of which message they belong to, 3-D positions. --json has everything: text, "
      "ids, runs of placeholders, positions (time, height, width), delta. Needs the small files "
      "of a checkpoint, not its weights.");
  add_model(command, options->model);
  add_question_options(command, options->question);
  add_template_options(command, options->conversation);
  add_picture_options(command, options->model.engine);
  command.group("Model");
  add_revision(command, options->model);
  command
      .example("sightline prompt demo -i photo.jpg \"What is this?\"",
               "what a picture costs in tokens")
      .example("sightline prompt demo --video clip.mp4 --fps 1 \"What happens?\"",
               "what a video costs; no frame is decoded")
      .example("sightline prompt demo --messages talk.json --json", "every id and position")
      .action([options](Output& output) { return prompt(*options, output); });
  return command;
}

}  // namespace sightline::cli
