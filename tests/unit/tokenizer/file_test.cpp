// Bad and unusual tokenizer.json files: each one clear error with file, path, expected and found.
#include <gtest/gtest.h>

#include <functional>

#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

using Change = std::function<void(io::Json&)>;

std::string error_after(const Change& change) {
  io::Json root = SmallTokenizer().json();
  change(root);
  return error_of([&] { (void)Tokenizer::parse(io::to_json_text(root), "t.json"); });
}

Change set(std::vector<std::string> path, const std::string& json) {
  return [=](io::Json& root) { member(root, path) = io::parse_json(json, ""); };
}

Change added(std::size_t index, const std::string& key, const std::string& json) {
  return [=](io::Json& root) {
    member(member(root, {"added_tokens"}).as_array()[index], {key}) = io::parse_json(json, "");
  };
}

struct Case {
  Change change;
  std::string error;  // after "invalid_tokenizer: t.json: "
};

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& one : cases)
    EXPECT_EQ(error_after(one.change), "invalid_tokenizer: t.json: " + one.error);
}

TEST(TokenizerFile, TheUnchangedOneLoads) {
  EXPECT_EQ(error_after([](io::Json&) {}), "");
}

// Whatever the file asks for that we do not run.
TEST(TokenizerFile, Unsupported) {
  const std::string byte_level = R"({"type": "ByteLevel", "add_prefix_space": )";
  expect_errors({
      {set({"version"}, "\"2.0\""), R"(version: expected "1.0", found "2.0")"},
      {set({"normalizer"}, R"({"type": "NFKC"})"),
       R"(normalizer.type: expected "NFC", found "NFKC")"},
      {set({"normalizer"}, R"({"type": "NFC", "x": 1})"),
       R"(normalizer: expected the keys type, found "x")"},
      {set({"pre_tokenizer"}, R"({"type": "Metaspace"})"),
       R"(pre_tokenizer.type: expected "Sequence", found "Metaspace")"},
      {set({"pre_tokenizer", "pretokenizers"}, "[]"),
       "pre_tokenizer.pretokenizers: expected Split and ByteLevel, found 0 parts"},
      {set({"pre_tokenizer"}, "null"), "pre_tokenizer: expected a value, found null"},
      {set({"post_processor"}, R"({"type": "TemplateProcessing"})"),
       R"(post_processor.type: expected "ByteLevel", found "TemplateProcessing")"},
      {set({"decoder"}, R"({"type": "Metaspace"})"),
       R"(decoder.type: expected "ByteLevel", found "Metaspace")"},
      {set({"model", "type"}, "\"Unigram\""), R"(model.type: expected "BPE", found "Unigram")"},
      {set({"model", "dropout"}, "0.1"), "model.dropout: expected null, found 0.1"},
      {set({"model", "unk_token"}, "\"<unk>\""),
       R"(model.unk_token: expected null, found "<unk>")"},
      {set({"model", "end_of_word_suffix"}, "\"</w>\""),
       R"(model.end_of_word_suffix: expected null or "", found "</w>")"},
      {set({"model", "byte_fallback"}, "true"),
       "model.byte_fallback: expected null or false, found true"},
      {set({"model", "ignore_merges"}, "1"),
       "model.ignore_merges: expected true or false, found 1"},
      {added(0, "lstrip", "true"), "added_tokens[0].lstrip: expected false, found true"},
      {added(1, "rstrip", "true"), "added_tokens[1].rstrip: expected false, found true"},
      {added(2, "single_word", "true"), "added_tokens[2].single_word: expected false, found true"},
      {added(3, "normalized", "true"), "added_tokens[3].normalized: expected false, found true"},
      {[](io::Json& root) { root.add("future", 1); },
       "the document: expected the keys version, truncation, padding, added_tokens, normalizer, "
       "pre_tokenizer, post_processor, "
       "decoder, model, found \"future\""},
  });
  const auto split = [](io::Json& root) -> io::Json& {
    return member(root, {"pre_tokenizer", "pretokenizers"}).as_array()[0];
  };
  const auto last = [](io::Json& root) -> io::Json& {
    return member(root, {"pre_tokenizer", "pretokenizers"}).as_array()[1];
  };
  const std::string path = "pre_tokenizer.pretokenizers";
  expect_errors({
      {[&](io::Json& root) { member(split(root), {"behavior"}) = "Removed"; },
       path + R"([0].behavior: expected "Isolated", found "Removed")"},
      {[&](io::Json& root) { member(split(root), {"invert"}) = true; },
       path + "[0].invert: expected null or false, found true"},
      {[&](io::Json& root) {
         member(split(root), {"pattern"}) = io::parse_json(R"({"String": " "})", "");
       },
       path + R"([0].pattern: expected the keys Regex, found "String")"},
      {[&](io::Json& root) { member(split(root), {"pattern", "Regex"}) = "(a"; },
       path + "[0].pattern.Regex: expected a regular expression, found missing closing parenthesis "
              "at byte 2"},
      {[&](io::Json& root) { member(split(root), {"pattern", "Regex"}) = R"(\w+)"; },
       path +
           R"([0].pattern.Regex: expected a pattern of literals, groups, classes, \s, \p{L}, \p{M} and \p{N}, found "\\w+" at byte 0)"},
      {[&](io::Json& root) { member(last(root), {"use_regex"}) = true; },
       path + "[1].use_regex: expected false, found true"},
      {[&](io::Json& root) { member(last(root), {"add_prefix_space"}) = true; },
       path + "[1].add_prefix_space: expected false, found true"},
  });
}

// Vocabulary and merges that contradict themselves.
TEST(TokenizerFile, BadVocabulary) {
  expect_errors({
      {set({"model", "vocab", "he"}, "0"),
       R"(model.vocab["he"]: expected an id of its own, found 0, the id of "Ā")"},
      {set({"model", "vocab", "he"}, "5000"),
       R"(model.vocab["he"]: expected ids 0 to 267, one for each piece, found 5000)"},
      {set({"model", "vocab", "he"}, "-1"),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found -1)"},
      {set({"model", "vocab", "he"}, "4294967296"),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found 4294967296)"},
      {set({"model", "vocab", "he"}, "1.5"),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found 1.5)"},
      {set({"model", "vocab", "he"}, "\"x\""),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found "x")"},
      {set({"model", "vocab", "he"}, "{}"),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found {})"},
      {set({"model", "vocab", "he"}, "[1]"),
       R"(model.vocab["he"]: expected an id from 0 to 2147483647, found [])"},
      {set({"model", "vocab"}, "[1]"), "model.vocab: expected an object, found array"},
      {set({"model", "vocab"}, "true"), "model.vocab: expected an object, found bool"},
      {set({"model", "merges"}, "true"), "model.merges: expected an array, found bool"},
      {set({"model", "vocab"}, "{}"),
       R"(model.vocab: expected a piece for each of the 256 bytes, found none for "Ā")"},
      {set({"model", "merges"}, "{}"), "model.merges: expected an array, found object"},
      {set({"model", "merges"}, "[[\"h\"]]"), "model.merges[0]: expected two pieces, found 1"},
      {set({"model", "merges"}, R"([["h", "e", "l"]])"),
       "model.merges[0]: expected two pieces, found a third one"},
      {set({"model", "merges"}, R"([["h", "e"], "ab"])"),
       R"(model.merges[1]: expected two pieces and one space between them, found "ab")"},
      {set({"model", "merges"}, R"(["h e", "a b c"])"),
       R"(model.merges[1]: expected two pieces and one space between them, found "a b c")"},
      {set({"model", "merges"}, R"(["h e", 7])"),
       "model.merges[1]: expected a string or a pair of strings, found 7"},
      {set({"model", "merges"}, R"([["h", 7]])"),
       "model.merges[0]: expected a string or a pair of strings, found 7"},
      {set({"model", "merges"}, R"([[["h"]]])"),
       "model.merges[0]: expected a string or a pair of strings, found []"},
      {set({"model", "merges"}, R"([{}])"),
       "model.merges[0]: expected a string or a pair of strings, found {}"},
      {set({"model", "merges"}, R"(["h zz"])"),
       R"(model.merges[0]: expected pieces of model.vocab, found "zz")"},
      {set({"model", "merges"}, R"(["h h"])"),
       R"(model.merges[0]: expected pieces of model.vocab, found "hh")"},
      {set({"model", "merges"}, R"(["h e", "h e"])"),
       R"(model.merges[1]: expected each pair once, found a second merge of "h" and "e")"},
  });
}

TEST(TokenizerFile, BadAddedTokens) {
  expect_errors({
      {set({"added_tokens"}, "{}"), "added_tokens: expected an array, found object"},
      {added(0, "id", "7"), "added_tokens[0].id: expected 268, found 7"},
      {added(0, "id", "2147483648"),
       "added_tokens[0].id: expected an integer from 0 to 2147483647, found 2147483648"},
      {added(1, "content", "\"<|im_start|>\""),
       R"(added_tokens[1].content: expected each added token once, found a second "<|im_start|>")"},
      {added(1, "content", "\"\""), "added_tokens[1].content: expected 1 to 1024 bytes, found 0"},
      {added(1, "content", "\"" + std::string(2000, 'x') + "\""),
       "added_tokens[1].content: expected 1 to 1024 bytes, found 2000"},
      {added(1, "content", "5"), "added_tokens[1].content: expected a string, found 5"},
      {added(1, "special", "null"), "added_tokens[1].special: expected a value, found null"},
      // A user who types "hell" would make a control token of it by way of merges.
      {added(0, "content", "\"hell\""),
       R"(added_tokens[0].content: expected a token that ordinary text is never merged into, found "hell")"},
  });
}

// An added token that stands in the vocabulary keeps its id there, with ignore_merges too it is not
// made from text.
TEST(TokenizerFile, AddedTokenInsideVocabulary) {
  SmallTokenizer small;
  small.ignore_merges = true;
  io::Json root = small.json();
  member(root, {"model", "vocab"}).add("zz", 268);
  auto& tokens = member(root, {"added_tokens"}).as_array();
  member(tokens[0], {"content"}) = "zz";
  tokens.resize(1);
  const Tokenizer tokenizer = Tokenizer::parse(io::to_json_text(root), "t.json");
  EXPECT_EQ(tokenizer.vocab_size(), 269U);
  EXPECT_EQ(tokenizer.encode("zz"), std::vector<TokenId>{268});
  EXPECT_EQ(tokenizer.encode("zz", ControlTokens::plain_text).size(), 2U);
}

// Merges may stand before the vocabulary; truncation and padding are settings of a call and are
// ignored.
TEST(TokenizerFile, OrderAndCallSettings) {
  io::Json root = SmallTokenizer().json();
  auto& model = member(root, {"model"}).as_object();
  std::swap(model[model.size() - 1], model[model.size() - 2]);
  member(root, {"truncation"}) = io::parse_json(R"({"max_length": 4})", "");
  const Tokenizer tokenizer = Tokenizer::parse(io::to_json_text(root), "t.json");
  EXPECT_EQ(tokenizer.encode("hello hello hello hello hello"),
            SmallTokenizer().make().encode("hello hello hello hello hello"));
}

TEST(TokenizerFile, BrokenDocuments) {
  const auto parse = [](std::string_view text) {
    return error_of([&] { (void)Tokenizer::parse(text, "t.json"); });
  };
  const std::string good = SmallTokenizer().text();
  // Cut at every length: always an error of the tokenizer's own code.
  for (std::size_t size = 0; size < good.size(); size += 37) {
    EXPECT_EQ(parse(std::string_view(good).substr(0, size)).substr(0, 26),
              "invalid_tokenizer: t.json:")
        << size;
  }
  EXPECT_EQ(parse("[]"),
            "invalid_tokenizer: t.json: the document: expected an object, found array");
  EXPECT_EQ(
      parse(R"({"version": "1.0", "version": "1.0"})"),
      R"(invalid_tokenizer: t.json: the document: expected each key once, found "version" twice)");
  EXPECT_EQ(parse(R"({"model": {"vocab": {"a": 0}, "vocab": {}}})"),
            R"(invalid_tokenizer: t.json: model: expected each key once, found "vocab" twice)");
  EXPECT_NE(parse(std::string(100'000, '[')).find("nested"), std::string::npos);
}

TEST(TokenizerFile, RepeatedPiece) {
  std::string text = SmallTokenizer().text();
  const std::string piece = "\"he\":256";
  text.replace(text.find(piece), piece.size(), "\"!\":256");
  EXPECT_EQ(
      error_of([&] { (void)Tokenizer::parse(text, "t.json"); }),
      R"(invalid_tokenizer: t.json: model.vocab["!"]: expected each piece once, found a second one)");
}

TEST(TokenizerFile, MissingFile) {
  EXPECT_EQ(error_of([] { (void)Tokenizer::load("/no/such/tokenizer.json"); }),
            "missing_file: /no/such/tokenizer.json: expected a tokenizer.json, found no file");
}

}  // namespace
}  // namespace sightline::tokenizer
