// `sightline run`: one question, or a file of questions, answered.
#include <fmt/format.h>

#include <memory>

#include "cli/answer_stream.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/conversation_options.hpp"
#include "cli/interrupt.hpp"
#include "cli/jsonl.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/result_report.hpp"

namespace sightline::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  QuestionOptions question;
  ConversationOptions conversation;
  std::optional<std::string> jsonl, out;
  bool stats = false;
};

int run_question(const RunOptions& options, Output& output) {
  const Request request = make_request(options.conversation, options.question, "run", output);
  const Engine engine = load_engine(options.model, output);
  Session session = engine.open_session();
  AnswerStream stream(output, output.json());
  InterruptScope interrupt([&] { session.cancel(); });
  const Result result = session.send(
      request, [&](const Token& token) { stream.on_token(token); },
      [&](const Progress& progress) {
        if (interrupt.interrupted()) session.cancel();
        stream.on_progress(progress);
      });
  stream.finish(result);
  if (output.json()) {
    io::Json json = result_json(result);
    if (options.stats) json.add("engine", engine_json(engine.info(), options.model.engine));
    output.line(io::to_json_text(json));
  } else if (options.stats) {
    output.notice(stats_text(result, engine.info(), options.model.engine));
  }
  return result.finish_reason == "cancelled" ? kInterrupted : kDone;
}

int run_many(const RunOptions& options, Output& output) {
  const QuestionOptions& question = options.question;
  if (question.question || question.messages || !question.visuals.empty()) {
    throw Error(Code::usage,
                "run: --jsonl holds the questions: it cannot be used with a question, --image, "
                "--video or --messages");
  }
  const JsonlRun requests(*options.jsonl, options.out, options.conversation, output);
  if (requests.pending() == 0) return kDone;
  const Engine engine = load_engine(options.model, output);
  return requests.run(engine, options.stats ? &options.model.engine : nullptr, output);
}

int run(const RunOptions& options, Output& output) {
  if (options.jsonl) return run_many(options, output);
  if (options.out) throw Error(Code::usage, "run: --out is an option of --jsonl");
  return run_question(options, output);
}

void add_options(Command& command, RunOptions& options) {
  add_model(command, options.model);
  add_question_options(command, options.question);
  command
      .option("--jsonl FILE", options.jsonl,
              "One request a line, one answer a line (docs/messages.md); '-' reads standard input.")
      .option("--out FILE", options.out,
              "With --jsonl: append the answers to this file. Requests that it answers already are "
              "skipped, so the same command resumes where it stopped.");
  add_template_options(command, options.conversation);
  add_answer_options(command, options.conversation);
  add_picture_options(command, options.model.engine);
  add_engine_options(command, options.model.engine);
  add_context_option(command, options.model.engine);
  add_revision(command, options.model);
  command.flag("--stats", options.stats,
               "Say what ran and what it cost: threads, kernel set, precision, times, memory.");
}

}  // namespace

Command run_command() {
  auto options = std::make_shared<RunOptions>();
  Command command("run", "answer a question about pictures and videos");
  command.description(
      "Writes the answer, and nothing else, to standard output while it is made. Ctrl-C ends an "
      "answer cleanly (exit code 130). With --json one object is written at the end: text, "
      "reasoning, token ids, finish_reason (stop, length, cancelled), pictures, times, memory.");
  add_options(command, *options);
  command
      .example("sightline run demo -i picture.png \"What colour is the circle?\"",
               "a picture and a question")
      .example("sightline run Qwen/Qwen3.5-2B -i a.jpg -i b.jpg \"What differs?\" --stats",
               "two pictures, with figures")
      .example("sightline run demo --video clip.mp4 \"Which way does it move?\"", "a video")
      .example("sightline run demo --video frames/ --video-fps 5 \"What moves?\"",
               "a folder of frame pictures, five a second")
      .example("git diff | sightline run ./checkpoint - --system \"Review this.\" --max-tokens 500",
               "the question from standard input")
      .example("sightline run demo --jsonl requests.jsonl --out answers.jsonl",
               "many requests; run it again to resume")
      .action([options](Output& output) { return run(*options, output); });
  return command;
}

}  // namespace sightline::cli
