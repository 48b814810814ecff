// `sightline chat`: a conversation in turns, typed or piped.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "chat/messages.hpp"
#include "cli/answer_stream.hpp"
#include "cli/chat_history.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/conversation_options.hpp"
#include "cli/interrupt.hpp"
#include "cli/line_reader.hpp"
#include "cli/messages_file.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/result_report.hpp"
#include "generate/request_messages.hpp"
#include "io/file.hpp"

namespace sightline::cli {
namespace {

constexpr const char* kChatHelp =
    "/image FILE   add a picture to the next question (also several times)\n"
    "/video FILE   the same with a video: a file, or a folder of frame pictures\n"
    "/reset        forget the conversation\n"
    "/save FILE    write the conversation to a messages file (docs/messages.md)\n"
    "/load FILE    continue the conversation of a messages file\n"
    "/help         this list\n"
    "/quit         end (also Ctrl-D); Ctrl-C ends an answer\n"
    "A question that starts with a slash is written with two: //etc is a path.\n";

struct ChatOptions {
  ModelOptions model;
  ConversationOptions conversation;
  bool stats = false;
};

/// Blanks and one pair of quotes around a file name removed, "~/" replaced by the home directory.
std::string file_name(std::string text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  text = text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  if (quoted) return text.substr(1, text.size() - 2);
  const char* home = std::getenv("HOME");
  return text.starts_with("~/") && home != nullptr ? std::string(home).append(text, 1) : text;
}

class Chat {
 public:
  Chat(const ChatOptions& options, Output& output)
      : options_(options),
        output_(output),
        engine_(load_engine(options.model, output)),
        session_(engine_.open_session()),
        history_(options.conversation.system.value_or("")) {
    generate::require_utf8(options.conversation.system.value_or(""), "--system");
  }

  int run();

 private:
  void take(const std::string& line);
  void command(const std::string& line);
  void ask(const std::string& question);
  void load(const std::string& file);
  void say(const std::string& text) { output_.notice(text + "\n"); }

  const ChatOptions& options_;
  Output& output_;
  Engine engine_;
  Session session_;
  ChatHistory history_;
  LineReader reader_;
  bool ended_ = false;
  int code_ = kDone;
};

int Chat::run() {
  if (reader_.interactive()) {
    say(fmt::format(
        "{} ({} tokens of context). /image FILE adds a picture, /video FILE a video, /help lists "
        "commands.",
        options_.model.model, engine_.info().context));
  }
  while (!ended_) {
    const std::string prompt =
        history_.attached() == 0 ? "> " : fmt::format("[{}] > ", history_.attached_text());
    const auto line = reader_.next(prompt.c_str());
    if (!line) break;
    try {
      take(*line);
    } catch (const Error& error) {
      const int code = report_error(error, output_);
      output_.flush();
      if (code_ == kDone && !reader_.interactive()) code_ = code;
    }
  }
  return code_;
}

void Chat::take(const std::string& line) {
  generate::require_utf8(line, "the line");  // JSON, which it becomes part of, holds nothing else
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  if (line.starts_with("//")) return ask(line.substr(1));
  if (line.starts_with('/')) return command(line);
  ask(line);
}

void Chat::command(const std::string& line) {
  const std::size_t blank = line.find_first_of(" \t");
  const std::string name = line.substr(0, blank);
  const std::string file = blank == std::string::npos ? "" : file_name(line.substr(blank));
  const bool needs_file =
      name == "/image" || name == "/video" || name == "/save" || name == "/load";
  if (needs_file && file.empty()) {
    throw Error(Code::usage, fmt::format("{}: expected a file name after it", name));
  }
  if (name == "/image" || name == "/video") return history_.attach(file, name == "/video");
  if (name == "/load") return load(file);
  if (name == "/save") {
    io::write_file(file, io::to_json_text(history_.messages(), 1) + "\n");
    return say(fmt::format("saved {} messages", history_.messages().as_array().size()));
  }
  if (name == "/reset") {
    history_.reset();
    session_.reset();
    return;
  }
  if (name == "/help")
    return say(std::string(kChatHelp).substr(0, std::string(kChatHelp).size() - 1));
  if (name == "/quit" || name == "/exit") {
    ended_ = true;
    return;
  }
  throw Error(Code::usage,
              fmt::format("'{}' is not a command; expected /image, /video, /reset, /save, "
                          "/load, /help or /quit",
                          name));
}

void Chat::load(const std::string& file) {
  io::Json messages = read_message_list(file, output_);
  (void)chat::read_messages(messages);  // what is wrong is said before anything is replaced
  make_paths_absolute(messages, directory_of(file));
  const std::size_t count = messages.as_array().size();
  history_.replace(std::move(messages));
  say(fmt::format("loaded {} messages", count));
}

void Chat::ask(const std::string& question) {
  Request request = make_request(options_.conversation);
  request.messages_json = io::to_json_text(history_.ask(question));
  AnswerStream stream(output_, output_.json());
  InterruptScope interrupt([&] { session_.cancel(); });
  const Result result = session_.send(
      request, [&](const Token& token) { stream.on_token(token); },
      [&](const Progress& progress) {
        if (interrupt.interrupted()) session_.cancel();
        stream.on_progress(progress);
      });
  stream.finish(result);
  if (output_.json()) {
    output_.line(io::to_json_text(result_json(result)));
    output_.flush();
  }
  if (options_.stats) {
    output_.notice(stats_text(result, engine_.info(), options_.model.engine));
  }
  const bool cancelled = result.finish_reason == "cancelled";
  if (!cancelled || !result.text.empty()) history_.answer(result);
  if (!cancelled || reader_.interactive()) return;
  code_ = kInterrupted;
  ended_ = true;
}

void add_options(Command& command, ChatOptions& options) {
  add_model(command, options.model);
  command.group("Conversation");
  add_template_options(command, options.conversation);
  add_answer_options(command, options.conversation);
  add_picture_options(command, options.model.engine);
  add_engine_options(command, options.model.engine);
  add_context_option(command, options.model.engine);
  add_revision(command, options.model);
  command.flag("--stats", options.stats, "After every answer: what ran and what it cost.");
}

}  // namespace

Command chat_command() {
  auto options = std::make_shared<ChatOptions>();
  Command command("chat", "a conversation about pictures and videos, in turns");
  command.description(
      "Every line is a question; lines that start with a slash are commands (/help). On a terminal "
      "lines can be edited and the arrow keys recall earlier ones; without one, lines are read "
      "from "
      "standard input. What a turn shares with the ones before is not computed again, pictures are "
      "encoded once. With --json every answer is one line, as of 'sightline run --json'.\n\n" +
      std::string(kChatHelp).substr(0, std::string(kChatHelp).size() - 1));
  add_options(command, *options);
  command.example("sightline chat demo", "type '/image picture.png', then a question")
      .example("printf '/image a.png\\nWhat is it?\\nWhere?\\n' | sightline chat demo",
               "a conversation from a pipe")
      .action([options](Output& output) { return Chat(*options, output).run(); });
  return command;
}

}  // namespace sightline::cli
