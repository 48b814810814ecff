// Protects: the lists of tokenizer.json that are read by hand are those that the JSON parser reads,
// and whatever is written in another way is left to the parser.
#include "tokenizer/list_reader.hpp"

#include <gtest/gtest.h>

#include "io/file.hpp"
#include "unit/tokenizer/same_lists.hpp"
#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

/// A document with these two lists.
std::string with(const std::string& vocabulary, const std::string& merges) {
  return R"({"a": [1, {"model": "]}"}], "model": {"type": "BPE", "vocab": )" + vocabulary +
         R"(, "merges": )" + merges + R"(}, "b": "\"vocab\": {"})";
}

TEST(ListReader, TakesWhatTheParserTakes) {
  SmallTokenizer text, pairs;
  text.merges_as_text = true;
  const std::string published = io::read_file(SIGHTLINE_TEST_DATA "/processor/tokenizer.json");
  for (const std::string& document :
       {text.text(), pairs.text(), io::to_json_text(pairs.json(), 2), published, with("{}", "[]"),
        with("{ \"a\\\"\\\\\" :0,\n\t\"\xC4\xA0\xE4\xB8\xAD\xF0\x9F\x98\x80\"\r: 2147483647 }",
             R"([ "a b" , [ "c d", "" ], " " ])")}) {
    const std::optional<ShortDocument> taken = take_lists(document);
    ASSERT_TRUE(taken) << document.substr(0, 200);
    EXPECT_TRUE(parsed(taken->rest));
    EXPECT_TRUE(agrees_with_parser(document)) << document.substr(0, 200);
  }
  EXPECT_EQ(take_lists(with(R"({"x": 1})", R"(["a b"])"))->rest, with("{}", "[]"));
}

TEST(ListReader, LeavesTheRestToTheParser) {
  for (const char* vocabulary : {"null",
                                 "[]",
                                 "{",
                                 "{,}",
                                 R"({"a": 1,})",
                                 R"({"a": 01})",
                                 R"({"a": -1})",
                                 R"({"a": 1.0})",
                                 R"({"a": 1e2})",
                                 R"({"a": 2147483648})",
                                 R"({"a": 99999999999999999999})",
                                 R"({"a": "1"})",
                                 R"({"a": })",
                                 R"({"a" 1})",
                                 R"({"a": 1 "b": 2})",
                                 R"({"\u0061": 1})",
                                 R"({"\/": 1})",
                                 "{\"\n\": 1}",
                                 "{\"\xC3\": 1}",
                                 "{\"\xED\xA0\x80\": 1}",
                                 R"({a: 1})"}) {
    EXPECT_FALSE(take_lists(with(vocabulary, "[]"))) << vocabulary;
  }
  for (const char* merges :
       {"null", "{}", "[", "[,]", R"(["a b",])", R"(["ab"])", R"(["a b c"])", R"([["a"]])",
        R"([["a", "b", "c"]])", R"([["a" "b"]])", R"([[["a"], "b"]])", "[1]", "[[1, 2]]",
        R"(["a b)", R"(["a b" "c d"])", R"([["\t", "b"]])"}) {
    EXPECT_FALSE(take_lists(with("{}", merges))) << merges;
  }
  for (const char* document : {"", "[]", "{}", R"({"model": 1})", R"({"model": {}})", R"({"model)",
                               R"({"model": {"vocab": {}}})", R"({"model": {"vocab": {}, "merges")",
                               R"({"a": "\)", R"({"a": [1, 2)"}) {
    EXPECT_FALSE(take_lists(document)) << document;
  }
}

// What only the parser sees makes it read, and refuse, the document itself.
TEST(ListReader, FaultsOfTheRest) {
  for (const char* document : {R"({"model": {"vocab": {}, "merges": [], "vocab": {}}})",
                               R"({"model": {"vocab": {"a": 1}, "merges": []}, "model": {}})",
                               R"({"a": [}, "model": {"vocab": {"a": 1}, "merges": []}})",
                               R"({"model": {"vocab": {"a": 1}, "merges": []})"}) {
    const std::optional<ShortDocument> taken = take_lists(document);
    ASSERT_TRUE(taken) << document;
    EXPECT_FALSE(parsed(taken->rest)) << document;
  }
  const std::string cut = with(R"({"a": 1})", "[]") + "x";
  EXPECT_EQ(error_of([&] { (void)Tokenizer::parse(cut, "t.json"); }),
            "invalid_tokenizer: t.json: invalid JSON at byte " + std::to_string(cut.size() - 1) +
                ": syntax error while parsing value - invalid literal");
}

}  // namespace
}  // namespace sightline::tokenizer
