// Messages of a conversation as JSON (docs/messages.md).
#include "cli/chat_history.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "io/file.hpp"

namespace sightline::cli {

ChatHistory::ChatHistory(std::string system) : system_(std::move(system)) { reset(); }

void ChatHistory::attach(const std::string& file) {
  if (!io::is_file(file)) {
    throw Error(Code::file_not_found, fmt::format("{}: expected a picture file, found none", file),
                {{"file", file}});
  }
  pictures_.push_back(std::filesystem::absolute(file).lexically_normal().string());
}

io::Json ChatHistory::ask(const std::string& question) {
  io::Json content = question;
  if (!pictures_.empty()) {
    content = io::Json::array();
    for (const std::string& picture : pictures_) {
      content.push(io::Json::Object{{"type", "image"}, {"image", picture}});
    }
    content.push(io::Json::Object{{"type", "text"}, {"text", question}});
  }
  pictures_.clear();
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
  pictures_.clear();
  messages_ = io::Json::array();
  if (system_.empty()) return;
  messages_.push(io::Json::Object{{"role", "system"}, {"content", system_}});
}

void ChatHistory::replace(io::Json messages) {
  pictures_.clear();
  messages_ = std::move(messages);
}

}  // namespace sightline::cli
