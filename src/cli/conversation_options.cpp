// Declares the options of a conversation and makes requests of them.
#include "cli/conversation_options.hpp"

#include <fmt/format.h>

#include "cli/input.hpp"
#include "cli/messages_file.hpp"
#include "generate/sampler.hpp"
#include "io/json.hpp"

namespace sightline::cli {
namespace {

constexpr double kMostLogprobs = 100;

std::string read_question(const std::string& question, Output& output) {
  if (question != "-") return question;
  std::string text = read_standard_input(output, "the question");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void refuse_mixture(const ConversationOptions& options, const QuestionOptions& question,
                    const char* command) {
  const bool more = question.question || !question.visuals.empty() || options.system;
  if (!question.messages || !more) return;
  throw Error(Code::usage,
              fmt::format("{}: --messages holds the whole conversation: it cannot be used with a "
                          "question, --image, --video or --system",
                          command));
}

}  // namespace

void add_question_options(Command& command, QuestionOptions& options) {
  command
      .positional("QUESTION", options.question,
                  "What to ask; '-' reads it from standard input. Quote it for the shell.")
      .group("What is asked")
      .each(
          "-i,--image FILE",
          [&options](const std::string& path) { options.visuals.push_back({path, false}); },
          "A picture: PNG, JPEG, WebP, GIF, TIFF or BMP. Pictures and videos come before the "
          "question, in the order given.")
      .each(
          "--video FILE",
          [&options](const std::string& path) { options.visuals.push_back({path, true}); },
          "A video: MP4, MOV, WebM, MKV, GIF or animated WebP; or a folder of frame pictures, or "
          "frame pictures with commas between, see --video-fps.")
      .option("--messages FILE", options.messages,
              "A whole conversation, text, pictures and videos in any order (docs/messages.md); "
              "'-' reads "
              "it from standard input. Paths in it are relative to the file.");
}

void add_template_options(Command& command, ConversationOptions& options) {
  command.option("--system TEXT", options.system, "A system message before the conversation.")
      .option("--tools FILE", options.tools, "A JSON list of tool definitions for the template.")
      .option("--kwargs JSON", options.kwargs,
              "A JSON object of further keyword arguments of the template.")
      .flag("--add-vision-id", options.add_vision_id,
            "Number pictures and videos ('Picture 1: ', 'Video 1: ').")
      .flag("--thinking", options.thinking,
            "Let the model reason first (default: what the template does by itself).")
      .flag("--no-thinking", options.thinking, "Answer at once.", false);
}

void add_answer_options(Command& command, ConversationOptions& options) {
  Sampling& sampling = options.sampling;
  command.group("Answer")
      .option("--max-tokens N", options.max_tokens,
              "Most tokens of the answer, reasoning included (default: 2048).", kPositive)
      .option("--stop TEXT", options.stop, "End the answer before this text.")
      .option("--logprobs N", options.logprobs,
              "With --json: the log-probability of every token and of the N most likely ones.",
              {0, kMostLogprobs})
      .group("Sampling (defaults: the checkpoint's generation_config.json, without one greedy)")
      .option("--temperature X", sampling.temperature, "0 always takes the most likely token.",
              {0, generate::kMaxTemperature})
      .option("--top-p X", sampling.top_p,
              "Sample from the most likely tokens that together reach this probability.", {0, 1})
      .option("--top-k N", sampling.top_k, "Sample from the N most likely tokens; 0: all.",
              {0, generate::kMaxTopK})
      .option("--min-p X", sampling.min_p,
              "Leave out tokens less likely than this share of the most likely one.", {0, 1})
      .option("--presence-penalty X", sampling.presence_penalty,
              "Subtracted from the logits of tokens that the answer already has.",
              {-generate::kMaxPresencePenalty, generate::kMaxPresencePenalty})
      .option("--repetition-penalty X", sampling.repetition_penalty,
              "Divides the logits of tokens of prompt and answer; 1: none.",
              {generate::kMinRepetitionPenalty, generate::kMaxRepetitionPenalty})
      .option("--seed N", sampling.seed,
              "Same seed, same answer, on every machine (default: a fresh one, see --json).");
}

Request make_request(const ConversationOptions& options) {
  Request request;
  if (options.tools) request.tools_json = read_tools(*options.tools);
  if (options.kwargs) request.template_kwargs_json = *options.kwargs;
  request.thinking = options.thinking;
  request.add_vision_id = options.add_vision_id;
  request.sampling = options.sampling;
  request.max_tokens = options.max_tokens;
  request.stop = options.stop;
  request.logprobs = options.logprobs;
  return request;
}

Request make_request(const ConversationOptions& options, const QuestionOptions& question,
                     const char* command, Output& output) {
  refuse_mixture(options, question, command);
  Request request = make_request(options);
  if (question.messages) {
    request.messages_json = io::to_json_text(read_message_list(*question.messages, output));
    request.base_directory = directory_of(*question.messages);
    return request;
  }
  if (!question.question) {
    throw Error(Code::usage, fmt::format("{}: nothing is asked: expected a question ('-' reads it "
                                         "from standard input) or --messages FILE",
                                         command));
  }
  if (options.system) request.messages.push_back({"system", {*options.system}});
  std::vector<Part> content;
  for (const QuestionVisual& visual : question.visuals) {
    if (visual.video) {
      content.emplace_back(Video::file(visual.path));
    } else {
      content.emplace_back(Picture::file(visual.path));
    }
  }
  content.emplace_back(read_question(*question.question, output));
  request.messages.push_back(user(std::move(content)));
  return request;
}

}  // namespace sightline::cli
