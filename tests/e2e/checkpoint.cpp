// The test checkpoint: random weights of the goldens and a byte-level tokenizer without merges.
#include <fmt/format.h>

#include <filesystem>

#include "binary.hpp"
#include "io/file.hpp"
#include "tokenizer/byte_alphabet.hpp"

namespace sightline::e2e {
namespace {

/// The ids of the goldens' configuration, and the strings that the template and the engine know.
struct Control {
  const char* text;
  bool special;
};
constexpr int kFirstControl = 490;
constexpr Control kControls[] = {
    {"<|image_pad|>", true},  {"<|video_pad|>", true}, {"<|vision_start|>", true},
    {"<|vision_end|>", true}, {"<|im_start|>", true},  {"<|im_end|>", true},
    {"<|endoftext|>", true},  {"<think>", false},      {"</think>", false}};

io::Json added_tokens() {
  io::Json added = io::Json::array();
  int id = kFirstControl;
  for (const Control& control : kControls) {
    added.push(io::Json::Object{{"id", id++},
                                {"content", control.text},
                                {"single_word", false},
                                {"lstrip", false},
                                {"rstrip", false},
                                {"normalized", false},
                                {"special", control.special}});
  }
  return added;
}

/// The bytes, and names without use up to the first control token.
io::Json vocabulary() {
  constexpr int kBytes = 256;
  io::Json vocab = io::Json::object();
  for (int id = 0; id < kFirstControl; ++id) {
    const auto byte = static_cast<unsigned char>(id);
    vocab.add(
        id < kBytes ? std::string(tokenizer::byte_character(byte)) : fmt::format("piece{}", id),
        id);
  }
  return vocab;
}

/// The published file with another vocabulary: normaliser, pattern and decoder stay.
std::string tokenizer_text() {
  const io::Json published = io::read_json_file(data("processor/tokenizer.json"));
  io::Json tokenizer = io::Json::object();
  for (const auto& [key, value] : published.as_object()) {
    if (key == "added_tokens") {
      tokenizer.add(key, added_tokens());
      continue;
    }
    if (key != "model") {
      tokenizer.add(key, value);
      continue;
    }
    io::Json model = io::Json::object();
    for (const auto& [name, member] : value.as_object()) {
      model.add(name, name == "vocab"    ? vocabulary()
                      : name == "merges" ? io::Json::array()
                                         : member);
    }
    tokenizer.add(key, std::move(model));
  }
  return io::to_json_text(tokenizer);
}

}  // namespace

void write_checkpoint(const Folder& folder, const std::string& model) {
  static const std::string tokenizer = tokenizer_text();
  folder.write("tokenizer.json", tokenizer);
  for (const auto& entry : std::filesystem::directory_iterator(data("models/" + model))) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file()) folder.link("models/" + model + "/" + name, name);
  }
  folder.link("processor/chat_template.jinja", "chat_template.jinja");
  folder.link("processor/preprocessor_config.json", "preprocessor_config.json");
}

void leave_out_end_tokens(const Folder& folder) {
  std::string text = io::read_file(folder.path("tokenizer.json"));
  for (const std::string end : {"<|im_end|>", "<|endoftext|>"}) {
    const std::size_t at = text.find(io::to_json_text(end));
    if (at == std::string::npos) throw std::runtime_error("no " + end);
    text.replace(at + 3, 2, "no");
  }
  folder.write("tokenizer.json", text);
}

}  // namespace sightline::e2e
