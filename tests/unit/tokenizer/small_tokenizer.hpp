// A small tokenizer.json made in the test: the 256 bytes, a list of merges, a list of added tokens.
// Tests change it member by member before they write it out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/json.hpp"
#include "sightline/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/tokenizer.hpp"

namespace sightline::tokenizer {

/// The published split pattern (specification section 4.1).
inline const std::string kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

/// What differs between the tokenizers of the tests.
struct SmallTokenizer {
  std::vector<std::pair<std::string, std::string>> merges = {
      {"h", "e"},   {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"Ġ", "w"}, {"o", "r"},
      {"Ġw", "or"}, {"c", "o"}, {"t", "h"},   {"th", "in"},  {"i", "n"}, {"thin", "k"}};
  std::vector<std::pair<std::string, bool>> added = {{"<|im_start|>", true},  {"<|im_end|>", true},
                                                     {"<|image_pad|>", true}, {"<think>", false},
                                                     {"</think>", false},     {"<think>!", false}};
  bool merges_as_text = false;
  bool ignore_merges = false;
  bool nfc = true;

  [[nodiscard]] io::Json json() const;
  [[nodiscard]] std::string text() const { return io::to_json_text(json()); }
  [[nodiscard]] Tokenizer make() const { return Tokenizer::parse(text(), "tokenizer.json"); }
};

/// The member at a path of keys; it must be there.
inline io::Json& member(io::Json& root, const std::vector<std::string>& path) {
  io::Json* at = &root;
  for (const std::string& key : path) {
    io::Json* next = nullptr;
    for (auto& [name, value] : at->as_object()) {
      if (name == key) next = &value;
    }
    at = next;
  }
  return *at;
}

inline io::Json SmallTokenizer::json() const {
  io::Json vocab = io::Json::object();
  io::Json merge_list = io::Json::array();
  int next = 0;
  for (int byte = 0; byte < 256; ++byte) {
    vocab.add(std::string(byte_character(static_cast<unsigned char>(byte))), next++);
  }
  for (const auto& [left, right] : merges) {
    if (vocab.find(left + right) == nullptr) vocab.add(left + right, next++);
    merge_list.push(merges_as_text ? io::Json(left + " " + right)
                                   : io::Json(io::Json::Array{left, right}));
  }
  io::Json tokens = io::Json::array();
  for (const auto& [content, special] : added) {
    const io::Json* known = vocab.find(content);
    io::Json token = io::Json::object();
    token.add("id", known != nullptr ? *known : io::Json(next++)).add("content", content);
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"})
      token.add(flag, false);
    tokens.push(token.add("special", special));
  }
  const std::string byte_level =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false})";
  io::Json root = io::Json::object();
  root.add("version", "1.0")
      .add("truncation", nullptr)
      .add("padding", nullptr)
      .add("added_tokens", tokens);
  root.add("normalizer", nfc ? io::parse_json(R"({"type": "NFC"})", "") : io::Json());
  io::Json split = io::parse_json(
      R"({"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": false})",
      "");
  member(split, {"pattern", "Regex"}) = kQwenPattern;
  io::Json sequence = io::Json::object();
  sequence.add("type", "Sequence");
  sequence.add("pretokenizers", io::Json::Array{split, io::parse_json(byte_level, "")});
  root.add("pre_tokenizer", sequence);
  root.add("post_processor", io::parse_json(byte_level, ""))
      .add("decoder", io::parse_json(byte_level, ""));
  io::Json model = io::parse_json(
      R"({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
      "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false})",
      "");
  model.add("ignore_merges", ignore_merges).add("vocab", vocab).add("merges", merge_list);
  root.add("model", model);
  return root;
}

/// The error that `call` throws: "code: message", or "" if it throws none.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

}  // namespace sightline::tokenizer
