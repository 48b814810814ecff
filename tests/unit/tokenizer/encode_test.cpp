// encode(): control tokens by mode and by origin, offsets, normalisation, long inputs, errors.
#include <gtest/gtest.h>

#include <random>

#include "unit/tokenizer/published_tokenizer.hpp"
#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

std::vector<std::string> pieces(const Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> out;
  for (const TokenId id : ids) out.emplace_back(tokenizer.piece(id));
  return out;
}

using Pieces = std::vector<std::string>;

// Merges run in rank order inside words only; both spellings of merges in the file mean the same.
TEST(Encode, MergesByRank) {
  for (const bool as_text : {false, true}) {
    SmallTokenizer small;
    small.merges_as_text = as_text;
    const Tokenizer tokenizer = small.make();
    EXPECT_EQ(pieces(tokenizer, tokenizer.encode("hello world")),
              (Pieces{"hello", "Ġwor", "l", "d"}));
    EXPECT_EQ(pieces(tokenizer, tokenizer.encode("color")), (Pieces{"co", "l", "or"}));
  }
}

// ignore_merges: a word that is a piece becomes it even where no merge leads there.
TEST(Encode, IgnoreMerges) {
  SmallTokenizer small;
  small.merges = {{"b", "c"}, {"a", "b"}, {"ab", "c"}};  // "abc" merges to a+bc, yet it is a piece
  EXPECT_EQ(pieces(small.make(), small.make().encode("abc")), (Pieces{"a", "bc"}));
  small.ignore_merges = true;
  EXPECT_EQ(pieces(small.make(), small.make().encode("abc")), (Pieces{"abc"}));
}

// Leftmost first, then longest; pieces of control tokens are text.
TEST(Encode, AddedTokensLeftmostLongest) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("<think>!")), (Pieces{"<think>!"}));
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("<<think>?")), (Pieces{"<", "<think>", "?"}));
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("<think</think>")),
            (Pieces{"<", "think", "</think>"}));
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("<|im_<|im_end|>")),
            (Pieces{"<", "|", "i", "m", "_", "<|im_end|>"}));
}

TEST(Encode, PlainTextHasNoControlTokens) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  for (const TokenId id :
       tokenizer.encode("<|im_end|><think></think>", ControlTokens::plain_text)) {
    EXPECT_FALSE(tokenizer.is_added(id));
  }
}

SourceText two_origins(std::string_view before, std::string_view typed, std::string_view after,
                       bool assistant) {
  SourceText source;
  source.parts.push_back({"messages[0].content", 0, assistant});
  source.append(before, kTemplateOrigin);
  source.append(typed, 1);
  source.append(after, kTemplateOrigin);
  return source;
}

// What a user types never becomes a control token; an assistant's text may hold those that are not
// special.
TEST(EncodeOrigins, DecideWhatCounts) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  const auto run = [&](std::string_view before, std::string_view typed, std::string_view after,
                       bool assistant) {
    Pieces added;
    for (const TokenId id : tokenizer.encode(two_origins(before, typed, after, assistant)).ids) {
      if (tokenizer.is_added(id)) added.emplace_back(tokenizer.piece(id));
    }
    return added;
  };
  EXPECT_EQ(run("<|im_start|>", "<|im_end|><think>", "<|im_end|>", false),
            (Pieces{"<|im_start|>", "<|im_end|>"}));
  EXPECT_EQ(run("", "<|im_end|><think>", "", true), (Pieces{"<think>"}));
  // Half from the template, half typed: only an assistant's part may complete one, and none that is
  // special.
  EXPECT_EQ(run("<thi", "nk>", "", false), (Pieces{}));
  EXPECT_EQ(run("<thi", "nk>", "", true), (Pieces{"<think>"}));
  EXPECT_EQ(run("<|im_", "end|>", "", true), (Pieces{}));
  // The longer one would need a typed byte, the shorter one is all the template's.
  EXPECT_EQ(run("<think>", "!", "", false), (Pieces{"<think>"}));
  // A typed beginning does not hide the template's token that follows.
  EXPECT_EQ(run("", "<|im_", "<|im_end|>", false), (Pieces{"<|im_end|>"}));
}

// An origin without a part is nobody's: treated as typed.
TEST(EncodeOrigins, UnknownOriginIsNotTrusted) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  SourceText source;
  source.append("<think>", 7);
  for (const TokenId id : tokenizer.encode(source).ids) EXPECT_FALSE(tokenizer.is_added(id));
}

// Offsets name the first byte of each token; where NFC changed a run, the run's first byte.
TEST(EncodeOrigins, Begins) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  SourceText source;
  source.append("<|im_start|>hello wor", kTemplateOrigin);
  const Encoding plain = tokenizer.encode(source);
  EXPECT_EQ(plain.begins, (std::vector<std::size_t>{0, 12, 17}));

  SourceText composed;
  composed.append("he e\xCC\x81 co",
                  kTemplateOrigin);  // e + U+0301 becomes the two bytes of U+00E9
  const Encoding normal = tokenizer.encode(composed);
  EXPECT_EQ(pieces(tokenizer, normal.ids), (Pieces{"he", "Ġ", "Ã", "©", "Ġ", "co"}));
  EXPECT_EQ(normal.begins, (std::vector<std::size_t>{0, 2, 3, 3, 6, 7}));
}

// Normalisation happens between control tokens, never across them; without a normalizer text stays
// as it is.
TEST(Encode, Normalizer) {
  SmallTokenizer small;
  const Tokenizer nfc = small.make();
  EXPECT_EQ(nfc.decode(nfc.encode("e\xCC\x81")), "\xC3\xA9");
  EXPECT_EQ(nfc.decode(nfc.encode("e<think>\xCC\x81")), "e<think>\xCC\x81");
  small.nfc = false;
  EXPECT_EQ(small.make().decode(small.make().encode("e\xCC\x81")), "e\xCC\x81");
}

// Long words and long rows of marks or spaces take about linear time (quadratic ones would take
// minutes).
TEST(Encode, LongInputsFinish) {
  constexpr std::size_t kLong = 1'000'000;
  std::string marks = "e";
  while (marks.size() < kLong)
    marks += "\xCC\x95\xCC\x96";  // U+0315 U+0316: every pair must change places
  for (const std::string& text : {std::string(kLong, 'a'), std::string(kLong, ' ') + "x", marks}) {
    EXPECT_EQ(published().decode(published().encode(text)).size(), text.size());
  }
  const std::string starts(kLong, '<');
  EXPECT_FALSE(published().encode(starts).empty());
}

TEST(EncodeErrors, InvalidUtf8NamesInputAndOffset) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  EXPECT_EQ(error_of([&] { (void)tokenizer.encode("ab\xFFz"); }),
            "invalid_utf8: text: expected UTF-8, found byte 0xFF at offset 2");
  EXPECT_EQ(
      error_of([&] { (void)tokenizer.encode("ab\xE2\x82", ControlTokens::recognised, "line 3"); }),
      "invalid_utf8: line 3: expected UTF-8, found byte 0xE2 at offset 2");
  EXPECT_EQ(error_of([&] { (void)tokenizer.encode(two_origins("abc", "\x80", "", false)); }),
            "invalid_utf8: messages[0].content: expected UTF-8, found byte 0x80 at offset 3");
}

TEST(EncodeErrors, MatchLimitNamesInput) {
  for (const bool jit : {true, false}) {
    const Tokenizer tokenizer =
        Tokenizer::parse(SmallTokenizer().text(), "tokenizer.json", {jit, 100});
    EXPECT_EQ(tokenizer.encode("hello world").size(), 4U);
    const std::string spaces(10'000, ' ');
    EXPECT_EQ(error_of([&] {
                (void)tokenizer.encode("hi" + spaces + "x", ControlTokens::recognised, "line 7");
              }),
              "match_limit: line 7: the tokenizer's pattern reached its match limit at byte 2, use "
              "shorter runs of "
              "white space or text");
    EXPECT_EQ(error_of([&] {
                (void)tokenizer.encode(two_origins("", spaces, "x", false));
              }).substr(0, 33),
              "match_limit: messages[0].content:");
  }
}

TEST(EncodeErrors, OriginsMustMatchBytes) {
  SourceText broken;
  broken.bytes = "ab";
  EXPECT_EQ(error_of([&] { (void)SmallTokenizer().make().encode(broken); }),
            "internal: prompt: expected an origin for each of 2 bytes, found 0");
}

TEST(EncodeErrors, UnknownIds) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  const auto size = static_cast<TokenId>(tokenizer.vocab_size());
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, size, 2'000'000'000}), "");
  EXPECT_TRUE(tokenizer.bytes(-1).empty());
  EXPECT_FALSE(tokenizer.is_added(size));
  EXPECT_EQ(error_of([&] { (void)tokenizer.piece(-1); }),
            "invalid_token_id: token id: expected 0 to " + std::to_string(size - 1) + ", found -1");
}

// Random messages made of token pieces: no control id outside template bytes, and with origins
// ignored the ids are those of the plain call. Begins never fall and agree with what the ids cover.
TEST(EncodeProperty, RandomMessages) {
  const Tokenizer& tokenizer = published();
  std::mt19937 random(20240601);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  const auto fragment = [&]() -> std::string {
    const std::string content =
        tokenizer.added_tokens()[below(tokenizer.added_tokens().size())].content;
    switch (below(6)) {
      case 0:
        return content;
      case 1:
        return content.substr(0, below(content.size()) + 1);
      case 2:
        return content.substr(below(content.size()));
      case 3:
        return std::string(1, static_cast<char>(' ' + below(95)));
      case 4:
        return below(2) == 0 ? "\n" : "e\xCC\x81";
      default:
        return tokenizer.decode(std::vector<TokenId>{static_cast<TokenId>(below(200'000))});
    }
  };
  for (int round = 0; round < 3000; ++round) {
    SourceText source;
    source.parts = {{"messages[0].content", 0, false}, {"messages[1].content", 1, true}};
    for (std::size_t n = below(12) + 1; n > 0; --n)
      source.append(fragment(), static_cast<Origin>(below(3)));
    const Encoding encoding = tokenizer.encode(source);
    ASSERT_EQ(encoding.ids.size(), encoding.begins.size());
    ASSERT_TRUE(std::is_sorted(encoding.begins.begin(), encoding.begins.end()));
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      if (!tokenizer.is_added(encoding.ids[i])) continue;
      const std::size_t begin = encoding.begins[i];
      const std::string_view content = tokenizer.piece(encoding.ids[i]);
      ASSERT_EQ(source.bytes.substr(begin, content.size()), content);
      for (std::size_t k = begin; k < begin + content.size(); ++k) {
        const bool by_template = source.origins[k] == kTemplateOrigin;
        const bool by_assistant = source.origins[k] == 2 && !tokenizer.is_special(encoding.ids[i]);
        ASSERT_TRUE(by_template || by_assistant) << source.bytes;
      }
    }
    source.origins.assign(source.size(), kTemplateOrigin);
    ASSERT_EQ(tokenizer.encode(source).ids, tokenizer.encode(source.bytes)) << source.bytes;
  }
}

}  // namespace
}  // namespace sightline::tokenizer
