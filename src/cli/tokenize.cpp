// `sightline tokenize`: text to ids and back, with the tokenizer.json of a checkpoint and nothing
// else.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "io/json.hpp"
#include "tokenizer/tokenizer.hpp"

namespace sightline::cli {
namespace {

using tokenizer::ControlTokens;
using tokenizer::TokenId;
using tokenizer::Tokenizer;

struct TokenizeOptions {
  ModelOptions model;
  bool jsonl = false, decode = false, plain = false, skip_special = false;
};

[[noreturn]] void fail_line(Code code, const std::string& where, const std::string& expected,
                            const std::string& found) {
  throw Error(code, fmt::format("{}: expected {}, found {}", where, expected, found),
              {{"where", where}, {"expected", expected}, {"found", found}});
}

/// The only member of a line's object, which must have this key.
const io::Json& only_member(const io::Json& line, const char* key, const std::string& where) {
  const std::string expected = fmt::format("an object with the one member \"{}\"", key);
  if (!line.is_object()) fail_line(Code::invalid_json, where, expected, line.type_name());
  const io::Json* member = line.find(key);
  if (member == nullptr) fail_line(Code::invalid_json, where, expected, "none of that name");
  if (line.as_object().size() != 1) {
    fail_line(Code::invalid_json, where, expected,
              fmt::format("{} members", line.as_object().size()));
  }
  return *member;
}

std::string encoded_line(const Tokenizer& tokenizer, const std::string& text, ControlTokens mode,
                         const std::string& where) {
  io::Json ids = io::Json::array(), pieces = io::Json::array();
  for (const TokenId id : tokenizer.encode(text, mode, where)) {
    ids.push(id);
    pieces.push(tokenizer.piece(id));
  }
  return io::to_python_json(
      io::Json::Object{{"ids", std::move(ids)}, {"pieces", std::move(pieces)}});
}

std::vector<TokenId> read_ids(const io::Json& list, const Tokenizer& tokenizer,
                              const std::string& where) {
  if (!list.is_array()) fail_line(Code::invalid_json, where + ": ids", "a list", list.type_name());
  std::vector<TokenId> ids;
  for (const io::Json& item : list.as_array()) {
    const auto size = static_cast<std::int64_t>(tokenizer.vocab_size());
    if (!item.is_int() || item.as_int() < 0 || item.as_int() >= size) {
      fail_line(Code::invalid_token_id, fmt::format("{}: ids[{}]", where, ids.size()),
                fmt::format("an id from 0 to {}", size - 1), io::to_json_text(item));
    }
    ids.push_back(static_cast<TokenId>(item.as_int()));
  }
  return ids;
}

std::string decoded_line(const Tokenizer& tokenizer, const io::Json& line, bool skip_special,
                         const std::string& where) {
  const std::vector<TokenId> ids = read_ids(only_member(line, "ids", where), tokenizer, where);
  return io::to_python_json(io::Json::Object{{"text", tokenizer.decode(ids, skip_special)}});
}

void convert_lines(const TokenizeOptions& options, const Tokenizer& tokenizer, Output& output) {
  const ControlTokens mode = options.plain ? ControlTokens::plain_text : ControlTokens::recognised;
  StandardInputLines lines;
  while (const auto line = lines.next()) {
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}, line {}", kStandardInput, lines.number());
    const io::Json json = io::parse_json(*line, where);
    if (options.decode) {
      output.line(decoded_line(tokenizer, json, options.skip_special, where));
      continue;
    }
    const io::Json& text = only_member(json, "text", where);
    if (!text.is_string()) {
      fail_line(Code::invalid_json, where + ": text", "a string", text.type_name());
    }
    output.line(encoded_line(tokenizer, text.as_string(), mode, where));
  }
}

int tokenize(const TokenizeOptions& options, Output& output) {
  if (options.skip_special && !options.decode) {
    throw Error(Code::usage, "tokenize: --skip-special is an option of --decode");
  }
  if (options.plain && options.decode) {
    throw Error(Code::usage, "tokenize: --plain cannot be used with --decode");
  }
  const Tokenizer tokenizer = Tokenizer::load(options.model.directory() + "/tokenizer.json");
  if (options.decode || options.jsonl) {
    convert_lines(options, tokenizer, output);
    return 0;
  }
  const std::string text = read_standard_input(output, "the text");
  const ControlTokens mode = options.plain ? ControlTokens::plain_text : ControlTokens::recognised;
  output.line(encoded_line(tokenizer, text, mode, kStandardInput));
  return 0;
}

}  // namespace

Command tokenize_command() {
  auto options = std::make_shared<TokenizeOptions>();
  Command command("tokenize", "text on standard input to token ids, or ids to text");
  command.description(
      "Reads standard input to its end as one text (a final newline is part of it) and writes one "
      "line {\"ids\": [...], \"pieces\": [...]}; pieces are spelled as in tokenizer.json. Needs "
      "only the checkpoint's tokenizer.json.");
  add_model(command, options->model);
  command
      .flag("--jsonl", options->jsonl,
            "Every line of the input is an object {\"text\": ...}; one line of output each.")
      .flag("--plain", options->plain,
            "Control tokens such as <|im_end|> are ordinary text; otherwise they are recognised as "
            "the file says.")
      .flag("--decode", options->decode,
            "Every line of the input is an object {\"ids\": [...]}; one line {\"text\": ...} each.")
      .flag("--skip-special", options->skip_special,
            "With --decode: leave out tokens that the file marks as special.");
  add_revision(command, options->model);
  command.example("printf 'Hello, world' | sightline tokenize demo", "ids of a text")
      .example("echo '{\"ids\": [40, 41]}' | sightline tokenize demo --decode", "text of ids")
      .example("sightline tokenize demo --jsonl < texts.jsonl", "many texts, one a line")
      .action([options](Output& output) { return tokenize(*options, output); });
  return command;
}

}  // namespace sightline::cli
