// Loading, look-ups and decoding; encode() is in encoder.cpp.
#include "tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include "io/file.hpp"
#include "sightline/error.hpp"
#include "tokenizer/stream_decoder.hpp"

namespace sightline::tokenizer {

Tokenizer::Tokenizer(TokenizerFile parts)
    : parts_(std::move(parts)),
      matcher_(parts_.added),
      kinds_(parts_.vocabulary.size(), Kind::ordinary) {
  for (const AddedToken& token : parts_.added) {
    kinds_[static_cast<std::size_t>(token.id)] = token.special ? Kind::special : Kind::added;
  }
}

Tokenizer Tokenizer::load(const std::string& path) {
  if (!io::has_file(path)) {
    throw Error(Code::missing_file,
                fmt::format("{}: expected a tokenizer.json, found no file", path),
                {{"file", path}});
  }
  return parse(io::read_file(path), path);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& name,
                           const PretokenizeOptions& options) {
  return Tokenizer(read_tokenizer_file(json, name, options));
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  StreamDecoder decoder(*this, skip_special);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  return text + decoder.flush();
}

std::string_view Tokenizer::bytes(TokenId id) const noexcept {
  return contains(id) ? parts_.vocabulary.bytes(id) : std::string_view();
}

std::string_view Tokenizer::piece(TokenId id) const {
  if (!contains(id)) {
    throw Error(
        Code::invalid_token_id,
        fmt::format("token id: expected 0 to {}, found {}", vocab_size() - 1, id),
        {{"expected", fmt::format("0 to {}", vocab_size() - 1)}, {"found", std::to_string(id)}});
  }
  return parts_.vocabulary.piece(id);
}

std::optional<TokenId> Tokenizer::id_of(std::string_view piece) const noexcept {
  return parts_.vocabulary.find(piece);
}

Tokenizer::Kind Tokenizer::kind(TokenId id) const noexcept {
  return contains(id) ? kinds_[static_cast<std::size_t>(id)] : Kind::ordinary;
}

}  // namespace sightline::tokenizer
