// Events of tokenizer.json, by mode: the document at large, the vocabulary, the merges, one merge's
// pair.
#include "tokenizer/file_sink.hpp"

#include <fmt/format.h>

#include "tokenizer/file_fault.hpp"

namespace sightline::tokenizer {
namespace {

std::uint32_t size32(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

}  // namespace

FileSink::FileSink(const std::string& file, std::size_t bytes) : file_(file) {
  // An entry of either list takes some 20 bytes of the file, a good half of them text.
  constexpr std::size_t kBytesPerEntry = 20;
  vocabulary.text.reserve(bytes / 2);
  merges.text.reserve(bytes / 2);
  vocabulary.entries.reserve(bytes / kBytesPerEntry);
  merges.entries.reserve(bytes / kBytesPerEntry);
}

void FileSink::start_object() {
  if (mode_ != Mode::rest) refuse(io::Json::object());
  if (at("model", "vocab")) {
    mode_ = Mode::vocabulary;
  } else {
    open(io::Json::object());
  }
}

void FileSink::end_object() {
  if (mode_ == Mode::vocabulary) {
    leave(Mode::vocabulary);
  } else {
    close();
  }
}

void FileSink::start_array() {
  if (mode_ == Mode::merges) {
    mode_ = Mode::pair;
    parts_ = 0;
    merges.entries.push_back({size32(merges.text), 0, 0});
  } else if (mode_ != Mode::rest) {
    refuse(io::Json::array());
  } else if (at("model", "merges")) {
    mode_ = Mode::merges;
  } else {
    open(io::Json::array());
  }
}

void FileSink::end_array() {
  if (mode_ == Mode::pair) {
    if (parts_ != 2) fail_file(file_, merge_path(), "two pieces", std::to_string(parts_));
    mode_ = Mode::merges;
  } else if (mode_ == Mode::merges) {
    leave(Mode::merges);
  } else {
    close();
  }
}

void FileSink::key(std::string&& name) {
  if (mode_ == Mode::vocabulary) {
    vocabulary.entries.push_back({size32(vocabulary.text), size32(name), 0});
    vocabulary.text.append(name);
    return;
  }
  if (open_.back().find(name) != nullptr) {
    fail_file(file_, keys_.size() > 1 ? keys_[0] : "the document", "each key once",
              quoted(name) + " twice");
  }
  keys_.back() = std::move(name);
}

void FileSink::string(std::string&& value) {
  if (mode_ == Mode::rest) {
    put(io::Json(std::move(value)));
  } else if (mode_ == Mode::merges) {
    merge_text(value);
  } else if (mode_ == Mode::pair && parts_ < 2) {
    auto& entry = merges.entries.back();
    (parts_++ == 0 ? entry.left : entry.right) = size32(value);
    merges.text.append(value);
  } else if (mode_ == Mode::pair) {
    fail_file(file_, merge_path(), "two pieces", "a third one");
  } else {
    refuse(io::Json(std::move(value)));
  }
}

void FileSink::literal(io::Json value) {
  if (mode_ == Mode::rest) return put(std::move(value));
  const bool is_id = mode_ == Mode::vocabulary && value.is_int() && value.as_int() >= 0 &&
                     value.as_int() <= INT32_MAX;
  if (!is_id) refuse(value);
  vocabulary.entries.back().id = static_cast<TokenId>(value.as_int());
}

bool FileSink::at(std::string_view outer, std::string_view inner) const {
  return keys_.size() == 2 && keys_[0] == outer && keys_[1] == inner;
}

std::string FileSink::merge_path() const {
  return fmt::format("model.merges[{}]", merges.entries.size() - 1);
}

void FileSink::open(io::Json value) {
  open_.push_back(std::move(value));
  keys_.emplace_back();
}

void FileSink::close() {
  io::Json done = std::move(open_.back());
  open_.pop_back();
  keys_.pop_back();
  put(std::move(done));
}

void FileSink::put(io::Json value) {
  if (open_.empty()) {
    rest = std::move(value);
  } else if (open_.back().is_object()) {
    open_.back().add(keys_.back(), std::move(value));
  } else {
    open_.back().push(std::move(value));
  }
}

void FileSink::leave(Mode from) {
  mode_ = Mode::rest;
  const bool is_vocabulary = from == Mode::vocabulary;
  open_.back().add(keys_.back(), is_vocabulary ? io::Json::object() : io::Json::array());
}

// The older form of a merge: its two pieces in one string with one space between them.
void FileSink::merge_text(std::string_view text) {
  merges.entries.push_back({size32(merges.text), 0, 0});
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    fail_file(file_, merge_path(), "two pieces and one space between them", quoted(text));
  }
  auto& entry = merges.entries.back();
  entry.left = static_cast<std::uint32_t>(space);
  entry.right = static_cast<std::uint32_t>(text.size() - space - 1);
  merges.text.append(text.substr(0, space)).append(text.substr(space + 1));
}

void FileSink::refuse(const io::Json& found) const {
  if (mode_ == Mode::vocabulary) {
    const auto& entry = vocabulary.entries.back();
    fail_file(file_, "model.vocab[" + quoted(vocabulary.piece(entry)) + "]",
              "an id from 0 to 2147483647", io::to_json_text(found));
  }
  const std::size_t index = merges.entries.size() - (mode_ == Mode::pair ? 1 : 0);
  fail_file(file_, fmt::format("model.merges[{}]", index), "a string or a pair of strings",
            io::to_json_text(found));
}

}  // namespace sightline::tokenizer
