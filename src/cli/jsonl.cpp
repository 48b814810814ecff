// Reads requests and earlier answers, runs what is left.
#include "cli/jsonl.hpp"

#include <fmt/format.h>

#include <set>

#include "cli/answer_file.hpp"
#include "cli/answer_stream.hpp"
#include "cli/command_line.hpp"
#include "cli/input.hpp"
#include "cli/interrupt.hpp"
#include "cli/jsonl_request.hpp"
#include "cli/messages_file.hpp"
#include "cli/result_report.hpp"
#include "io/file.hpp"

namespace sightline::cli {
namespace {

/// What makes a request and its answer belong together: the id, else the index.
std::string key_of(const io::Json& id, std::size_t index) {
  return id.is_null() ? fmt::format("#{}", index) : io::to_json_text(id);
}

/// Calls take(line, number) for every line that is not blank; a last line without its end counts.
template <class Take>
void for_lines(const std::string& text, Take take) {
  std::size_t start = 0;
  for (std::size_t number = 1; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    if (line.find_first_not_of(" \t\r") != std::string::npos) take(line, number);
    start = end + 1;
  }
}

/// The id of a line that may not even be JSON: then there is none, and the fault is found again
/// when its turn comes.
io::Json id_if_any(const std::string& text, const std::string& where) {
  try {
    return request_id(io::parse_json(text, where), where);
  } catch (const Error&) {
    return nullptr;
  }
}

constexpr std::string_view kAnswerBegin = R"({"index":)";  // of every answer line

[[noreturn]] void fail_foreign(const std::string& where) {
  throw Error(Code::invalid_json,
              fmt::format("{}: expected an answer of an earlier run (an object with \"index\"), "
                          "found none; give another file to --out",
                          where));
}

std::string answered_key(const std::string& text, const std::string& where) {
  const io::Json line = io::parse_json(text, where);
  const io::Json* index = line.find("index");
  if (index == nullptr || !index->is_int()) fail_foreign(where);
  return key_of(request_id(line, where), static_cast<std::size_t>(index->as_int()));
}

}  // namespace

JsonlRun::JsonlRun(const std::string& file, const std::optional<std::string>& out,
                   const ConversationOptions& defaults, Output& output)
    : defaults_(defaults) {
  if (file == "-") {
    read_requests(read_standard_input(output, "the requests"), kStandardInput);
  } else {
    base_directory_ = directory_of(file);
    read_requests(io::read_file(file), file);
  }
  if (!out) return;
  file_ = std::make_unique<AnswerFile>(*out);
  drop_answered(*out);
}

JsonlRun::~JsonlRun() = default;

void JsonlRun::read_requests(const std::string& text, const std::string& name) {
  std::set<std::string> keys;
  for_lines(text, [&](const std::string& line, std::size_t number) {
    Line request{requests_.size(), fmt::format("{}, line {}", name, number), line, {}};
    request.id = id_if_any(line, request.where);
    const std::string key = key_of(request.id, request.index);
    if (!keys.insert(key).second) {
      throw Error(Code::invalid_messages,
                  fmt::format("{}: id: expected one that no line before has, found {}",
                              request.where, key));
    }
    requests_.push_back(std::move(request));
  });
}

void JsonlRun::drop_answered(const std::string& out) {
  std::string text = io::read_file(out);
  const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string torn = text.substr(whole);
  text.resize(whole);
  std::set<std::string> answered;
  for_lines(text, [&](const std::string& line, std::size_t number) {
    answered.insert(answered_key(line, fmt::format("{}, line {}", out, number)));
  });
  // Only now is it known that the file is ours to cut.
  if (!torn.starts_with(kAnswerBegin) && !kAnswerBegin.starts_with(torn)) {
    fail_foreign(fmt::format("{}, last line", out));
  }
  if (!torn.empty()) file_->cut(whole);
  std::erase_if(requests_,
                [&](const Line& line) { return answered.count(key_of(line.id, line.index)) != 0; });
}

std::optional<io::Json> JsonlRun::answer(Session& session, const Line& line,
                                         const OnProgress& on_progress, const Shown& shown) const {
  io::Json answer = io::Json::object();
  answer.add("index", line.index);
  if (!line.id.is_null()) answer.add("id", line.id);
  try {
    const Request request = parse_request_line(io::parse_json(line.text, line.where), line.where,
                                               defaults_, base_directory_);
    const Result result = session.send(request, {}, on_progress);
    if (result.finish_reason == "cancelled") return std::nullopt;
    io::Json members = result_json(result);
    for (auto& [key, value] : members.as_object()) answer.add(key, std::move(value));
    shown.result(result);
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) return std::nullopt;
    answer.add("error", error_body(error));
    shown.error(error);
  }
  return answer;
}

int JsonlRun::run(const Engine& engine, const EngineOptions* stats, Output& output) const {
  Session session = engine.open_session();
  InterruptScope interrupt([&] { session.cancel(); });
  int code = kDone;
  Shown shown;
  shown.result = [&](const Result& result) {
    if (stats != nullptr) output.notice(stats_text(result, engine.info(), *stats));
  };
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (interrupt.interrupted()) return cancelled(i, output);
    const Line& line = requests_[i];
    shown.error = [&](const Error& error) {
      const bool named = std::string_view(error.what()).starts_with(line.where);
      output.notice(named ? error_line(error) + "\n"
                          : fmt::format("{} ({})\n", error_line(error), line.where));
      if (code == kDone) code = exit_code(error.domain());
    };
    const auto on_progress = [&](const Progress& progress) {
      if (interrupt.interrupted()) session.cancel();
      output.progress(
          fmt::format("request {} of {}: {}", i + 1, requests_.size(), progress_text(progress)));
    };
    const std::optional<io::Json> done = answer(session, line, on_progress, shown);
    if (!done) return cancelled(i, output);
    write(*done, output);
  }
  return code;
}

int JsonlRun::cancelled(std::size_t answered, Output& output) const {
  output.notice(fmt::format("sightline: cancelled: {} of {} requests are answered{}\n", answered,
                            requests_.size(),
                            file_ ? "; the same command goes on with the others" : ""));
  return kInterrupted;
}

void JsonlRun::write(const io::Json& answer, Output& output) const {
  if (file_) {
    file_->append(io::to_json_text(answer));
    return;
  }
  output.line(io::to_json_text(answer));
  output.flush();
}

}  // namespace sightline::cli
