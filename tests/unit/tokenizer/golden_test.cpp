// Equality with the reference on the published tokenizer: hand-picked cases and a few hundred
// random ones. Protects: every stage of encode() and decode() together, and the time that loading
// takes.
#include <gtest/gtest.h>

#include <chrono>

#include "unit/tokenizer/published_tokenizer.hpp"
#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

std::vector<TokenId> ids_of(const io::Json& array) {
  std::vector<TokenId> ids;
  for (const io::Json& id : array.as_array()) ids.push_back(static_cast<TokenId>(id.as_int()));
  return ids;
}

// The 156 cases that come with the specification.
TEST(TokenizerGolden, HandPickedCases) {
  const io::Json cases = io::read_json_file(SIGHTLINE_TEST_DATA "/text/tokenizer.json");
  ASSERT_EQ(cases.as_array().size(), 156U);
  for (const io::Json& one : cases.as_array()) {
    const std::string& text = one.find("text")->as_string();
    const auto ids = ids_of(*one.find("ids"));
    EXPECT_EQ(published().encode(text), ids) << text;
    EXPECT_EQ(published().decode(ids), one.find("decoded")->as_string()) << text;
    EXPECT_EQ(published().decode(ids, true), one.find("decoded_skip_special")->as_string()) << text;
  }
}

// Random strings over all of Unicode, written by tools/reference/tokenizer_cases.py.
TEST(TokenizerGolden, RandomCases) {
  const io::Json file = io::read_json_file(SIGHTLINE_TEST_DATA "/text/tokenizer_random.json");
  const auto& cases = file.find("cases")->as_array();
  ASSERT_GE(cases.size(), 300U);
  for (const io::Json& one : cases) {
    const std::string& text = one.as_array()[0].as_string();
    EXPECT_EQ(published().encode(text), ids_of(one.as_array()[1])) << text;
  }
}

// Specification section 4.1: ids that the rest of the system leans on, all found by name.
TEST(TokenizerGolden, PublishedIds) {
  const Tokenizer& tokenizer = published();
  EXPECT_EQ(tokenizer.vocab_size(), 248077U);
  EXPECT_EQ(tokenizer.id_of("<|im_end|>"), 248046);
  EXPECT_EQ(tokenizer.id_of("<|image_pad|>"), 248056);
  EXPECT_EQ(tokenizer.id_of("<think>"), 248068);
  EXPECT_EQ(tokenizer.id_of("no such piece"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(248056));
  EXPECT_TRUE(tokenizer.is_added(248068));
  EXPECT_FALSE(tokenizer.is_special(248068));
  EXPECT_EQ(tokenizer.piece(248068), "<think>");
  EXPECT_EQ(tokenizer.piece(271), "ĊĊ");
  EXPECT_EQ(tokenizer.bytes(271), "\n\n");
  EXPECT_EQ(tokenizer.added_tokens().size(), 33U);
}

// The placeholder id of a sibling vocabulary is ordinary text here.
TEST(TokenizerGolden, SiblingPlaceholderIdIsOrdinaryText) {
  constexpr TokenId kSiblingImagePad = 151655;
  const std::string text = published().decode(std::vector<TokenId>{kSiblingImagePad});
  EXPECT_FALSE(published().is_added(kSiblingImagePad));
  EXPECT_EQ(published().encode(text, ControlTokens::plain_text),
            std::vector<TokenId>{kSiblingImagePad});
}

// Every id of the vocabulary: its bytes decode alone as the stream decodes them, and pieces name
// their ids.
TEST(TokenizerGolden, EveryPieceNamesItsId) {
  const Tokenizer& tokenizer = published();
  for (TokenId id = 0; static_cast<std::size_t>(id) < tokenizer.vocab_size(); ++id) {
    ASSERT_EQ(tokenizer.id_of(tokenizer.piece(id)), id);
  }
}

// Loading must stay within 0.5 s; the bound here is wide because test machines are busy.
TEST(TokenizerGolden, LoadsInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const Tokenizer tokenizer = Tokenizer::load(SIGHTLINE_TEST_DATA "/processor/tokenizer.json");
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_EQ(tokenizer.vocab_size(), 248077U);
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace sightline::tokenizer
