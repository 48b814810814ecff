// Checks the document around vocabulary and merges, resolves merges to ids, places the added
// tokens.
#include "tokenizer/tokenizer_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "io/json.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/file_fault.hpp"
#include "tokenizer/file_sink.hpp"
#include "tokenizer/list_reader.hpp"

namespace sightline::tokenizer {
namespace {

using io::JsonReader;
using Keys = std::initializer_list<std::string_view>;

// The first key of an object that is not in `known`.
std::optional<std::string> unknown_key(const io::Json& object, Keys known) {
  for (const auto& [key, value] : object.as_object()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) return key;
  }
  return std::nullopt;
}

std::string keys_text(Keys known) { return fmt::format("the keys {}", fmt::join(known, ", ")); }

// A key that we do not know may change ids, so it is an error.
void only_keys(const JsonReader& reader, Keys known) {
  if (!reader.value().is_object()) reader.fail("an object", reader.value().type_name());
  if (const auto key = unknown_key(reader.value(), known))
    reader.fail(keys_text(known), quoted(*key));
}

void check_root(const io::Json& root, const std::string& file) {
  const Keys known = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                      "pre_tokenizer", "post_processor", "decoder", "model"};
  const std::string path = "the document";
  if (!root.is_object()) fail_file(file, path, "an object", root.type_name());
  if (const auto key = unknown_key(root, known))
    fail_file(file, path, keys_text(known), quoted(*key));
}

// The member must be absent, null or, as text, one of `harmless`.
void require_unset(const JsonReader& reader, std::string_view key, Keys harmless = {}) {
  if (!reader.has(key)) return;
  const JsonReader member = reader.at(key);
  const std::string found = io::to_json_text(member.value());
  if (std::find(harmless.begin(), harmless.end(), found) != harmless.end()) return;
  member.fail(
      harmless.size() == 0 ? "null" : fmt::format("null or {}", fmt::join(harmless, " or ")),
      found);
}

void require_string(const JsonReader& reader, std::string_view key, std::string_view expected) {
  const JsonReader member = reader.at(key);
  if (member.string() != expected) member.fail(quoted(expected), quoted(member.string()));
}

void check_byte_level(const JsonReader& reader) {
  require_string(reader, "type", "ByteLevel");
  only_keys(reader, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

bool read_normalizer(const JsonReader& root) {
  if (!root.has("normalizer")) return false;
  const JsonReader normalizer = root.at("normalizer");
  require_string(normalizer, "type", "NFC");
  only_keys(normalizer, {"type"});
  return true;
}

// Sequence of Split(Regex, Isolated) and ByteLevel without prefix space and without its own
// pattern.
Pretokenizer read_pretokenizer(const JsonReader& root, const std::string& file,
                               const PretokenizeOptions& options) {
  const JsonReader sequence = root.at("pre_tokenizer");
  require_string(sequence, "type", "Sequence");
  only_keys(sequence, {"type", "pretokenizers"});
  const JsonReader parts = sequence.at("pretokenizers");
  if (parts.size() != 2) parts.fail("Split and ByteLevel", fmt::format("{} parts", parts.size()));
  const JsonReader split = parts.at(std::size_t{0});
  require_string(split, "type", "Split");
  only_keys(split, {"type", "pattern", "behavior", "invert"});
  require_string(split, "behavior", "Isolated");
  require_unset(split, "invert", {"false"});
  const JsonReader byte_level = parts.at(std::size_t{1});
  check_byte_level(byte_level);
  // Both are true when the file leaves them out.
  if (byte_level.at("add_prefix_space").boolean())
    byte_level.at("add_prefix_space").fail("false", "true");
  if (byte_level.at("use_regex").boolean()) byte_level.at("use_regex").fail("false", "true");
  only_keys(split.at("pattern"), {"Regex"});
  const JsonReader pattern = split.at("pattern").at("Regex");
  return {pattern.string(), file, pattern.path(), options};
}

// The model's settings; true if ignore_merges is set.
bool check_model(const JsonReader& model) {
  require_string(model, "type", "BPE");
  only_keys(model,
            {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
             "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  require_unset(model, "dropout");
  require_unset(model, "unk_token");
  require_unset(model, "continuing_subword_prefix", {"\"\""});
  require_unset(model, "end_of_word_suffix", {"\"\""});
  require_unset(model, "fuse_unk", {"false"});
  require_unset(model, "byte_fallback", {"false"});
  // The sink took these two and left the empty containers.
  const JsonReader vocabulary = model.at("vocab");
  if (!vocabulary.value().is_object()) vocabulary.fail("an object", vocabulary.value().type_name());
  const JsonReader merges = model.at("merges");
  if (!merges.value().is_array()) merges.fail("an array", merges.value().type_name());
  return model.has("ignore_merges") && model.at("ignore_merges").boolean();
}

Bpe::ByteIds byte_ids(const Vocabulary& vocabulary, const std::string& file) {
  Bpe::ByteIds ids{};
  for (std::size_t byte = 0; byte < ids.size(); ++byte) {
    const std::string_view piece = byte_character(static_cast<unsigned char>(byte));
    const auto id = vocabulary.find(piece);
    if (!id)
      fail_file(file, "model.vocab", "a piece for each of the 256 bytes",
                "none for " + quoted(piece));
    ids[byte] = *id;
  }
  return ids;
}

// Pieces that ordinary text can become: single bytes and results of merges.
using Reachable = std::vector<bool>;

// Ids by piece for the merges. Published files list merged pieces in order of their ids, so the one
// after the last result is tried before the table.
class MergeReader {
 public:
  MergeReader(const Vocabulary& vocabulary, const MergeEntries& source, const std::string& file)
      : vocabulary_(vocabulary), source_(source), file_(file) {}

  MergeTable read(Reachable& reachable) {
    resolve();
    MergeTable table(resolved_.size());
    for (std::size_t i = 0; i < resolved_.size(); ++i) {
      if (i + kAhead < resolved_.size())
        table.prefetch(resolved_[i + kAhead].left, resolved_[i + kAhead].right);
      const auto& [left, right, result] = resolved_[i];
      reachable[static_cast<std::size_t>(result)] = true;
      if (table.insert(left, right, {static_cast<std::uint32_t>(i), result})) continue;
      fail_file(file_, path(i), "each pair once",
                fmt::format("a second merge of {} and {}", quoted(vocabulary_.piece(left)),
                            quoted(vocabulary_.piece(right))));
    }
    return table;
  }

 private:
  struct Resolved {
    TokenId left, right, result;
  };

  void resolve() {
    resolved_.reserve(source_.entries.size());
    for (std::size_t i = 0; i < source_.entries.size(); ++i) {
      prefetch(i + kAhead);
      const auto& entry = source_.entries[i];
      resolved_.push_back({require(source_.left(entry), i), require(source_.right(entry), i),
                           require_result(source_.both(entry), i)});
    }
  }

  static constexpr std::size_t kAhead = 16;  // merges between asking for a cache line and using it

  void prefetch(std::size_t i) const {
    if (i >= source_.entries.size()) return;
    vocabulary_.prefetch(source_.left(source_.entries[i]));
    vocabulary_.prefetch(source_.right(source_.entries[i]));
  }

  static std::string path(std::size_t i) { return fmt::format("model.merges[{}]", i); }

  TokenId require(std::string_view piece, std::size_t i) const {
    const auto id = vocabulary_.find(piece);
    if (!id) fail_file(file_, path(i), "pieces of model.vocab", quoted(piece));
    return *id;
  }

  TokenId require_result(std::string_view piece, std::size_t i) {
    const bool guessed = vocabulary_.contains(guess_) && vocabulary_.piece(guess_) == piece;
    const TokenId id = guessed ? guess_ : require(piece, i);
    guess_ = id + 1;
    return id;
  }

  const Vocabulary& vocabulary_;
  const MergeEntries& source_;
  std::vector<Resolved> resolved_;
  const std::string& file_;
  TokenId guess_ = 0;
};

AddedToken read_added_token(const JsonReader& reader) {
  only_keys(reader, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  for (const std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
    if (reader.at(flag).boolean()) reader.at(flag).fail("false", "true");
  }
  const JsonReader content = reader.at("content");
  if (content.string().empty() || content.string().size() > kMaxAddedTokenBytes) {
    content.fail(fmt::format("1 to {} bytes", kMaxAddedTokenBytes),
                 std::to_string(content.string().size()));
  }
  const auto id = static_cast<TokenId>(reader.at("id").integer(0, INT32_MAX));
  return {content.string(), id, reader.at("special").boolean()};
}

// An added token keeps the id that its content has in model.vocab, or takes the next free one: the
// reference numbers them so, whatever the file says. HF: tokenizers, AddedVocabulary::add_tokens.
// One that merges can reach is refused: a user's text could become it.
std::vector<AddedToken> read_added_tokens(const JsonReader& root, Vocabulary& vocabulary,
                                          const Reachable& reachable) {
  std::vector<AddedToken> tokens;
  if (!root.has("added_tokens")) return tokens;
  const JsonReader list = root.at("added_tokens");
  const auto model_size = static_cast<TokenId>(vocabulary.size());
  std::vector<bool> taken(vocabulary.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader reader = list.at(i);
    AddedToken token = read_added_token(reader);
    const auto known = vocabulary.find(token.content);
    if (known && (*known >= model_size || taken[static_cast<std::size_t>(*known)])) {
      reader.at("content").fail("each added token once", "a second " + quoted(token.content));
    }
    if (known && reachable[static_cast<std::size_t>(*known)]) {
      reader.at("content").fail("a token that ordinary text is never merged into",
                                quoted(token.content));
    }
    const TokenId expected = known ? *known : static_cast<TokenId>(vocabulary.size());
    if (token.id != expected)
      reader.at("id").fail(std::to_string(expected), std::to_string(token.id));
    if (known) {
      taken[static_cast<std::size_t>(*known)] = true;
    } else {
      vocabulary.add(token.content);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// The document is a checkpoint's file: whatever is wrong with it, the checkpoint is at fault.
void parse_whole(std::string_view json, const std::string& file, FileSink& sink) {
  try {
    io::parse_json_events(json, file, sink);
  } catch (const Error& error) {
    if (error.code() != Code::invalid_json) throw;
    throw Error(Code::invalid_tokenizer, error.what(), error.context());
  }
}

// The lists by hand, if they are written as usual, and the rest by the parser. Where that does not
// do, the parser reads everything, and says what is wrong and where.
FileSink parse(std::string_view json, const std::string& file) {
  if (json.size() > kMaxTokenizerFileBytes) {
    fail_file(file, "the file", fmt::format("at most {} bytes", kMaxTokenizerFileBytes),
              std::to_string(json.size()));
  }
  if (std::optional<ShortDocument> lists = take_lists(json)) {
    try {
      FileSink sink(file, lists->rest.size());
      parse_whole(lists->rest, file, sink);
      sink.vocabulary = std::move(lists->vocabulary);
      sink.merges = std::move(lists->merges);
      return sink;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): said below, in the file's own bytes
    }
  }
  FileSink sink(file, json.size());
  parse_whole(json, file, sink);
  return sink;
}

}  // namespace

TokenizerFile read_tokenizer_file(std::string_view json, const std::string& file,
                                  const PretokenizeOptions& options) {
  const FileSink sink = parse(json, file);
  check_root(sink.rest, file);
  const JsonReader root(sink.rest, file, "", Code::invalid_tokenizer);
  require_string(root, "version", "1.0");
  TokenizerFile parts;
  parts.nfc = read_normalizer(root);
  parts.pretokenizer = read_pretokenizer(root, file, options);
  if (root.has("post_processor")) check_byte_level(root.at("post_processor"));
  check_byte_level(root.at("decoder"));
  parts.ignore_merges = check_model(root.at("model"));
  parts.vocabulary = Vocabulary(sink.vocabulary, file);
  const Bpe::ByteIds bytes = byte_ids(parts.vocabulary, file);
  Reachable reachable(parts.vocabulary.size());
  for (const TokenId id : bytes) reachable[static_cast<std::size_t>(id)] = true;
  parts.bpe = Bpe(MergeReader(parts.vocabulary, sink.merges, file).read(reachable), bytes);
  parts.added = read_added_tokens(root, parts.vocabulary, reachable);
  return parts;
}

}  // namespace sightline::tokenizer
