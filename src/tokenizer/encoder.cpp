// One call of Tokenizer::encode: cuts out added tokens, normalises what lies between them, splits
// it into words and merges each. Holds the call's working memory.
#include <fmt/format.h>

#include "sightline/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/normalize.hpp"
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {

/// The state of one encode call. Not for use outside this file.
class Encoder {
 public:
  /// `describe` gives the name of the input that a byte belongs to, for errors.
  using Describe = std::function<std::string(std::size_t offset)>;

  Encoder(const Tokenizer& tokenizer, std::string_view text, Describe describe, Encoding& out)
      : tokenizer_(tokenizer),
        text_(text),
        describe_(std::move(describe)),
        out_(out),
        splitter_(tokenizer.parts_.pretokenizer) {}

  void run(const AddedTokenMatcher::Permit* permit) {
    check_text();
    std::size_t done = 0;
    while (permit != nullptr) {
      const auto match = tokenizer_.matcher_.find(text_, done, *permit);
      if (!match) break;
      add_segment(done, match->begin);
      add(match->token->id, match->begin);
      done = match->end;
    }
    add_segment(done, text_.size());
  }

 private:
  void check_text() const {
    if (text_.size() > kMaxTextBytes) {
      throw Error(Code::memory_limit, fmt::format("{}: expected at most {} bytes of text, found {}",
                                                  describe_(0), kMaxTextBytes, text_.size()));
    }
    if (const auto bad = find_invalid_utf8(text_)) {
      throw Error(Code::invalid_utf8,
                  fmt::format("{}: expected UTF-8, found byte 0x{:02X} at offset {}",
                              describe_(*bad), static_cast<unsigned char>(text_[*bad]), *bad),
                  {{"input", describe_(*bad)}, {"offset", std::to_string(*bad)}});
    }
  }

  void add(TokenId id, std::size_t begin) {
    out_.ids.push_back(id);
    out_.begins.push_back(begin);
  }

  // Text between added tokens: a document of its own for normaliser and pattern.
  void add_segment(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::string_view source = text_.substr(begin, end - begin);
    if (!tokenizer_.parts_.nfc) return add_words(source, begin, nullptr);
    const NfcText normal(source);
    add_words(normal.text(), begin, &normal);
  }

  void add_words(std::string_view text, std::size_t origin, const NfcText* normal) {
    if (const auto stuck = splitter_.split(text, ends_)) {
      const std::size_t at = origin + (normal != nullptr ? normal->source_offset(*stuck) : *stuck);
      throw Error(
          Code::match_limit,
          fmt::format(
              "{}: the tokenizer's pattern reached its match limit at byte {}, use shorter runs of "
              "white space or text",
              describe_(at), at),
          {{"input", describe_(at)}, {"offset", std::to_string(at)}});
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      add_word(text.substr(begin, end - begin));
      for (const TokenId id : word_) {
        add(id, origin + (normal != nullptr ? normal->source_offset(begin) : begin));
        begin += tokenizer_.bytes(id).size();
      }
    }
  }

  // Puts the tokens of one word into word_.
  void add_word(std::string_view word) {
    word_.clear();
    if (const auto whole = whole_piece(word)) {
      word_.push_back(*whole);
    } else {
      tokenizer_.parts_.bpe.encode(word, scratch_, word_);
    }
  }

  // With ignore_merges a word that is a piece becomes it; an added token's content never does.
  std::optional<TokenId> whole_piece(std::string_view word) {
    if (!tokenizer_.parts_.ignore_merges) return std::nullopt;
    piece_.clear();
    for (const char c : word) piece_.append(byte_character(static_cast<unsigned char>(c)));
    const auto id = tokenizer_.id_of(piece_);
    return id && !tokenizer_.is_added(*id) ? id : std::nullopt;
  }

  const Tokenizer& tokenizer_;
  std::string_view text_;
  Describe describe_;
  Encoding& out_;
  Splitter splitter_;
  std::vector<std::size_t> ends_;
  std::vector<TokenId> word_;
  Bpe::Scratch scratch_;
  std::string piece_;
};

namespace {

const SourcePart* part_at(const SourceText& source, std::size_t offset) {
  if (offset >= source.origins.size()) return nullptr;
  const Origin origin = source.origins[offset];
  return origin != kTemplateOrigin && origin <= source.parts.size() ? &source.parts[origin - 1]
                                                                    : nullptr;
}

// True if everybody who wrote bytes [begin, end) may write this token.
bool is_permitted(const SourceText& source, std::size_t begin, std::size_t end,
                  const AddedToken& token) {
  for (std::size_t i = begin; i < end; ++i) {
    if (source.origins[i] == kTemplateOrigin) continue;
    const SourcePart* part = part_at(source, i);
    if (token.special || part == nullptr || !part->assistant) return false;
  }
  return true;
}

}  // namespace

std::vector<TokenId> Tokenizer::encode(std::string_view text, ControlTokens mode,
                                       const std::string& name) const {
  const AddedTokenMatcher::Permit anywhere = [](std::size_t, std::size_t, const AddedToken&) {
    return true;
  };
  Encoding out;
  Encoder(
      *this, text, [&](std::size_t) { return name; }, out)
      .run(mode == ControlTokens::recognised ? &anywhere : nullptr);
  return std::move(out.ids);
}

Encoding Tokenizer::encode(const SourceText& source, const std::string& name) const {
  if (source.origins.size() != source.bytes.size()) {
    throw Error(Code::internal, fmt::format("{}: expected an origin for each of {} bytes, found {}",
                                            name, source.bytes.size(), source.origins.size()));
  }
  const AddedTokenMatcher::Permit by_origin = [&](std::size_t begin, std::size_t end,
                                                  const AddedToken& token) {
    return is_permitted(source, begin, end, token);
  };
  const auto describe = [&](std::size_t offset) {
    const SourcePart* part = part_at(source, offset);
    return part != nullptr ? part->where : name;
  };
  Encoding out;
  Encoder(*this, source.bytes, describe, out).run(&by_origin);
  return out;
}

}  // namespace sightline::tokenizer
