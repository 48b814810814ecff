// `sightline render`: a conversation through the chat template, as text. Needs only the template.
#include <fmt/format.h>

#include <memory>

#include "chat/chat_template.hpp"
#include "chat/messages.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/messages_file.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "generate/checkpoint_files.hpp"
#include "generate/request_messages.hpp"
#include "io/file.hpp"
#include "io/json.hpp"

namespace sightline::cli {
namespace {

struct RenderOptions {
  ModelOptions model;
  std::optional<std::string> messages, tools, chat_template, kwargs;
  bool generation_prompt = true;
};

int render(const RenderOptions& options, Output& output) {
  if (!options.messages) {
    throw Error(Code::usage, "render: --messages FILE is required ('-' reads standard input)");
  }
  const io::Json messages = chat::normalize_messages(read_message_list(*options.messages, output));
  const generate::RenderArguments arguments = generate::read_render_arguments(
      options.tools ? read_tools(*options.tools) : "", options.kwargs.value_or(""));
  const std::string directory = options.model.directory();
  const auto chat_template =
      generate::read_chat_template(directory, options.chat_template.value_or(""));
  try {
    const SourceText text =
        generate::require_template(chat_template, directory)
            .render({messages, arguments.tools.is_null() ? nullptr : &arguments.tools,
                     arguments.kwargs, options.generation_prompt});
    output.line(io::to_python_json(io::Json::Object{{"text", text.bytes}}));
    return kDone;
  } catch (const Error& error) {
    if (error.code() != Code::template_error) throw;
    (void)report_error(error, output);
    return kCheckFailed;
  }
}

}  // namespace

Command render_command() {
  auto options = std::make_shared<RenderOptions>();
  Command command("render", "a conversation as the chat template renders it");
  command.description(
      "Writes one line {\"text\": ...}. Pictures are not opened. When the template refuses the "
      "conversation, its own words are the error, and the exit "
      "code is 1. Needs only the checkpoint's chat template (chat_template.jinja, or the member "
      "chat_template of tokenizer_config.json).");
  add_model(command, options->model);
  command
      .option("--messages FILE", options->messages,
              "A JSON list of messages, or an object with the member \"messages\"; '-' reads "
              "standard input. Required.")
      .option("--tools FILE", options->tools, "A JSON list of tool definitions.")
      .option("--template FILE", options->chat_template, "Use this template instead.")
      .option("--kwargs JSON", options->kwargs,
              "Further keyword arguments of the template: an object such as "
              "'{\"enable_thinking\": true}'.")
      .flag("--no-generation-prompt", options->generation_prompt,
            "End with the last message, not with the beginning of an answer.", false);
  add_revision(command, options->model);
  command.example("sightline render demo --messages talk.json", "the prompt as text")
      .example("sightline render demo --messages talk.json --kwargs '{\"enable_thinking\": true}'",
               "with thinking")
      .action([options](Output& output) { return render(*options, output); });
  return command;
}

}  // namespace sightline::cli
