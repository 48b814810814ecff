// The parts of the tokenizer on their own, each fast one against a plain one.
#include <gtest/gtest.h>

#include <random>

#include "tokenizer/bpe.hpp"
#include "tokenizer/normalize.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/pretokenize.hpp"
#include "tokenizer/utf8.hpp"
#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

// Byte-pair encoding as it is told: merge the pair of lowest rank, leftmost first, until none is
// left.
std::vector<TokenId> plain_bpe(const MergeTable& merges, std::vector<TokenId> ids) {
  while (true) {
    std::size_t best = ids.size();
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge* merge = merges.find(ids[i], ids[i + 1]);
      if (merge == nullptr) continue;
      if (best == ids.size() || merge->rank < merges.find(ids[best], ids[best + 1])->rank) best = i;
    }
    if (best == ids.size()) return ids;
    ids[best] = merges.find(ids[best], ids[best + 1])->id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

// The heap and the linked list against the definition, on random merges over four letters.
TEST(Bpe, HeapEqualsDefinition) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    constexpr TokenId kLetters = 4;
    constexpr std::uint32_t kMerges = 40;
    MergeTable merges(kMerges);
    TokenId next = kLetters;
    for (std::uint32_t rank = 0; rank < kMerges; ++rank) {
      const auto left = static_cast<TokenId>(random() % static_cast<unsigned>(next));
      const auto right = static_cast<TokenId>(random() % static_cast<unsigned>(next));
      if (merges.insert(left, right, {rank, next})) ++next;
    }
    Bpe::ByteIds bytes{};
    for (TokenId id = 0; id < kLetters; ++id) bytes['a' + static_cast<std::size_t>(id)] = id;
    const Bpe bpe(merges, bytes);
    std::string word;
    std::vector<TokenId> ids, out;
    for (std::size_t i = random() % 60; i > 0; --i) {
      word += static_cast<char>('a' + random() % kLetters);
      ids.push_back(word.back() - 'a');
    }
    Bpe::Scratch scratch;
    bpe.encode(word, scratch, out);
    ASSERT_EQ(out, plain_bpe(merges, ids)) << word;
  }
}

TEST(MergeTable, SecondMergeOfAPairIsRefused) {
  MergeTable merges(2);
  EXPECT_TRUE(merges.insert(1, 2, {0, 3}));
  EXPECT_FALSE(merges.insert(1, 2, {1, 4}));
  EXPECT_EQ(merges.find(1, 2)->id, 3);
  EXPECT_EQ(merges.find(2, 1), nullptr);
  EXPECT_EQ(MergeTable().find(0, 0), nullptr);
}

std::vector<std::string> split(const std::string& text, const PretokenizeOptions& options,
                               const std::string& pattern = kQwenPattern) {
  const Pretokenizer pretokenizer(pattern, "f", "p", options);
  std::vector<std::size_t> ends;
  EXPECT_EQ(Splitter(pretokenizer).split(text, ends), std::nullopt);
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return words;
}

using Words = std::vector<std::string>;

TEST(Pretokenize, PublishedPattern) {
  EXPECT_EQ(split("I'm  here,\n\n 12", {}),
            (Words{"I", "'m", " ", " here", ",\n\n", " ", "1", "2"}));
  EXPECT_EQ(split("", {}), Words{});
}

// The compiled matcher against the interpreter that takes over where code may not be generated.
TEST(Pretokenize, JitEqualsInterpreter) {
  std::mt19937 random(3);
  const std::vector<std::string> atoms = {"a",      "Z",      "'s",         "'LL",       "1",
                                          " ",      "  ",     "\n",         "\r\n",      "!",
                                          "_",      "\u00e9", "\u0301",     "\u4e2d",    "\u0663",
                                          "\u00a0", "\u180e", "\U0001F600", "\U000323A0"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::size_t n = random() % 20; n > 0; --n) text += atoms[random() % atoms.size()];
    EXPECT_EQ(split(text, {true}), split(text, {false})) << text;
  }
}

// A pattern that leaves gaps or matches nothing: gaps are words too, empty matches are none.
TEST(Pretokenize, GapsAndEmptyMatches) {
  EXPECT_EQ(split("ab12cd", {}, R"(\p{N}+)"), (Words{"ab", "12", "cd"}));
  EXPECT_EQ(split("ab12\u00e9", {}, R"(\p{N}*)"), (Words{"ab", "12", "\u00e9"}));
  EXPECT_EQ(split("ab", {}, ""), (Words{"ab"}));
}

// Letters, marks and digits younger than PCRE2's tables are seen as the reference sees them; so is
// U+180E.
TEST(Pretokenize, YoungerCharacters) {
  EXPECT_EQ(split("a\U00031350\U0001E4D0b", {}), Words{"a\U00031350\U0001E4D0b"});
  EXPECT_EQ(split("a\u0897", {}), Words{"a\u0897"});
  EXPECT_EQ(split("\U00016D70\U00016D71", {}), (Words{"\U00016D70", "\U00016D71"}));
  EXPECT_EQ(split("1\u180e\u180e1", {}), (Words{"1", "\u180e\u180e", "1"}));
  std::string buffer;
  const std::string text = "plain \u4e2d";
  EXPECT_EQ(with_stand_ins(text, buffer).data(), text.data());
}

// Constructs that the two regular expression engines read differently are refused, not run.
TEST(Pattern, RefusesWhatEnginesReadDifferently) {
  for (const char* pattern :
       {".",     "^a",        "a$",         R"(\w)", R"(\h)",  R"(\d)", R"(\bx)",
        R"(\K)", R"(\p{Lu})", R"(\p{Han})", "[[a]]", "[a&&b]", "[]a]",  "[",
        "(?R)",  "(?<n>a)",   "(*UCP)",     "(?i)a", "a{,2}",  "a{2}+", "a{2}?",
        "a{x",   "\\",        "\xC3\xA9",   R"(\1)"}) {
    EXPECT_EQ(error_of([&] { check_pattern(pattern, "f", "p"); }).substr(0, 37),
              "invalid_tokenizer: f: p: expected a p")
        << pattern;
  }
  for (const std::string& pattern :
       {kQwenPattern, std::string(R"(\p{N}{1,3}|[a-z_]{2,}|(?:x|y)*+|(?<!a)b(?=c))")}) {
    EXPECT_EQ(error_of([&] { check_pattern(pattern, "f", "p"); }), "");
  }
}

TEST(Pattern, BrokenAndOversized) {
  EXPECT_EQ(error_of([] { Pretokenizer("(a", "f", "p"); }),
            "invalid_tokenizer: f: p: expected a regular expression, found missing closing "
            "parenthesis at byte 2");
  EXPECT_EQ(error_of([] { Pretokenizer(std::string(70'000, 'a'), "f", "p"); }),
            "invalid_tokenizer: f: p: expected at most 65536 bytes, found 70000");
}

std::string nfc(std::string_view text) { return std::string(NfcText(text).text()); }

TEST(Nfc, ComposesOrdersAndKeeps) {
  EXPECT_EQ(nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(nfc("a\u0315\u0316"), "a\u0316\u0315");
  EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(nfc("\u1106\u1167\u11a7"), "\uba70\u11a7");  // no trailing consonant
  EXPECT_EQ(nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // excluded from composition
  const std::string same = "ASCII \u00e9 \u4e2d\u6587";
  EXPECT_EQ(NfcText(same).text().data(), same.data());
}

// Marks that are younger than the reference's tables neither move nor let others pass.
TEST(Nfc, YoungerMarksStandStill) {
  EXPECT_EQ(nfc("a\u1abf\u0301"), "a\u1abf\u0301");
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");
  EXPECT_EQ(nfc("\u1abf\u0315\u0316"), "\u1abf\u0316\u0315");
}

TEST(Nfc, SourceOffsets) {
  const std::string source = "ab e\u0301\u0316 c e\u0301d";  // runs at 3..8 and 11..14
  const NfcText text(source);
  EXPECT_EQ(text.text(), "ab \u00e9\u0316 c \u00e9d");
  EXPECT_EQ(text.source_offset(2), 2U);
  EXPECT_EQ(text.source_offset(5), 3U);
  EXPECT_EQ(text.source_offset(9), 10U);
  const std::size_t last = text.text().size() - 1;
  EXPECT_EQ(text.source_offset(last), source.size() - 1);
  EXPECT_EQ(text.source_offset(last + 1), source.size());
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("plain text of more than eight bytes \u00e9\u4e2d\U0001F600"),
            std::nullopt);
  EXPECT_EQ(find_invalid_utf8("12345678\xC3"), 8U);
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0U);
  EXPECT_EQ(find_invalid_utf8(std::string("\0\xF4\x90\x80\x80", 5)), 1U);
}

TEST(ByteAlphabet, RoundTripsAndLeavesStrangersAlone) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string out;
    append_piece_bytes(out, byte_character(static_cast<unsigned char>(byte)));
    EXPECT_EQ(out, std::string(1, static_cast<char>(byte)));
  }
  std::string out = "x";
  append_piece_bytes(out, "Ġa b");  // the space is no character of the alphabet
  append_piece_bytes(out, "\u4e2d");
  append_piece_bytes(out, "Ġ");
  EXPECT_EQ(out, "xĠa b\u4e2d ");
}

}  // namespace
}  // namespace sightline::tokenizer
