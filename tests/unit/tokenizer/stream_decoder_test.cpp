// Streaming decode: whole characters only, never stalled, the sum of all pieces equal to decode().
#include <gtest/gtest.h>

#include <random>

#include "tokenizer/stream_decoder.hpp"
#include "tokenizer/utf8.hpp"
#include "unit/tokenizer/published_tokenizer.hpp"
#include "unit/tokenizer/small_tokenizer.hpp"

namespace sightline::tokenizer {
namespace {

// In the small tokenizer the id of a byte is the byte.
std::vector<TokenId> byte_ids(std::string_view bytes) {
  std::vector<TokenId> ids;
  for (const char c : bytes) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(StreamDecoder, HoldsBackUnfinishedCharacters) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.pending(), "\xF0\x9F\x98");
  EXPECT_EQ(decoder.push(0x80), "\xF0\x9F\x98\x80");
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.flush(), "");
}

// A byte that can not continue a character is answered at once, not when the answer ends.
TEST(StreamDecoder, NeverStallsAtInvalidBytes) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xFF), "\uFFFD");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.push('x'), "\uFFFDx");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.push(0x82), "");
  EXPECT_EQ(decoder.flush(), "\uFFFD");
  EXPECT_EQ(decoder.push('y'), "y");
}

// Replacement by maximal subparts; expectations are what the reference's decode() returns for these
// bytes.
TEST(StreamDecoder, ReplacementCharacters) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  const std::string r = "\uFFFD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80", r},
      {"\xC0\x80", r + r},
      {"\xE0\x80\x80", r + r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98zz", r + "zz"},
      {"\xF0\x80", r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xE2\x82\xE2\x82\xAC", r + "\u20AC"},
      {"\xC3\xC3\xA9", r + "\u00E9"}};
  for (const auto& [bytes, expected] : cases)
    EXPECT_EQ(tokenizer.decode(byte_ids(bytes)), expected);
}

TEST(StreamDecoder, SkipsSpecialAndUnknownIds) {
  const Tokenizer tokenizer = SmallTokenizer().make();
  StreamDecoder decoder(tokenizer, true);
  EXPECT_EQ(decoder.push(*tokenizer.id_of("<|im_end|>")), "");
  EXPECT_EQ(decoder.push(*tokenizer.id_of("<think>")), "<think>");
  EXPECT_EQ(decoder.push(999'999), "");
  // A character goes on behind a token that is left out, as in the reference's decode().
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.push(*tokenizer.id_of("<|im_end|>")), "");
  EXPECT_EQ(decoder.push(0xA9), "\u00E9");
}

TEST(StreamDecoder, PiecesAddUpToDecode) {
  std::mt19937 random(7);
  const Tokenizer small = SmallTokenizer().make();
  for (const Tokenizer* tokenizer : {&small, &published()}) {
    std::uniform_int_distribution<TokenId> any(0,
                                               static_cast<TokenId>(tokenizer->vocab_size()) + 3);
    std::uniform_int_distribution<TokenId> high(0x80, 0xFF);
    for (int round = 0; round < 2000; ++round) {
      std::vector<TokenId> ids(random() % 12);
      for (TokenId& id : ids)
        id = tokenizer == &small && random() % 4 != 0 ? high(random) : any(random);
      const bool skip = round % 2 == 0;
      StreamDecoder decoder(*tokenizer, skip);
      std::string sum;
      for (const TokenId id : ids) {
        const std::string piece = decoder.push(id);
        ASSERT_EQ(find_invalid_utf8(piece), std::nullopt);
        ASSERT_LE(decoder.pending().size(), 3U);
        sum += piece;
      }
      sum += decoder.flush();
      ASSERT_EQ(sum, tokenizer->decode(ids, skip));
    }
  }
}

// Text that is NFC already comes back as it went in.
TEST(StreamDecoder, RoundTrip) {
  for (const std::string text :
       {"", "plain", "\u00e9\u4e2d\U0001F600 \r\n\t", "<|im_end|> <think>"}) {
    EXPECT_EQ(published().decode(published().encode(text)), text);
  }
}

}  // namespace
}  // namespace sightline::tokenizer
