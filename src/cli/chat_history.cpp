// Messages of a conversation as JSON (docs/messages.md).
#include "cli/chat_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "io/file.hpp"

namespace sightline::cli {

ChatHistory::ChatHistory(std::string system) : system_(std::move(system)) { reset(); }

void ChatHistory::attach(const std::string& file, bool video) {
  std::error_code error;
  const bool folder = video && std::filesystem::is_directory(file, error);
  if (!folder && !io::is_file(file)) {
    throw Error(
        Code::file_not_found,
        fmt::format("{}: expected {}, found none", file,
                    video ? "a video file or a folder of frame pictures" : "a picture file"),
        {{"file", file}});
  }
  attached_.push_back({std::filesystem::absolute(file).lexically_normal().string(), video});
}

std::string ChatHistory::attached_text() const {
  std::string text;
  for (const bool video : {false, true}) {
    const auto count = std::count_if(attached_.begin(), attached_.end(),
                                     [&](const Attached& one) { return one.video == video; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " and ", count,
                        video ? "video" : "picture", count == 1 ? "" : "s");
  }
  return text;
}

io::Json ChatHistory::ask(const std::string& question) {
  io::Json content = question;
  if (!attached_.empty()) {
    content = io::Json::array();
    for (const Attached& one : attached_) {
      const char* kind = one.video ? "video" : "image";
      content.push(io::Json::Object{{"type", kind}, {kind, one.path}});
    }
    content.push(io::Json::Object{{"type", "text"}, {"text", question}});
  }
  attached_.clear();
  asked_ = messages_;
  asked_.push(io::Json::Object{{"role", "user"}, {"content", std::move(content)}});
  return asked_;
}

void ChatHistory::answer(const Result& result) {
  io::Json message = io::Json::Object{{"role", "assistant"}, {"content", result.text}};
  if (!result.reasoning.empty()) message.add("reasoning_content", result.reasoning);
  messages_ = std::move(asked_);
  messages_.push(std::move(message));
}

void ChatHistory::reset() {
  attached_.clear();
  messages_ = io::Json::array();
  if (system_.empty()) return;
  messages_.push(io::Json::Object{{"role", "system"}, {"content", system_}});
}

void ChatHistory::replace(io::Json messages) {
  attached_.clear();
  messages_ = std::move(messages);
}

}  // namespace sightline::cli
