// Text, origins and ids against a small tokenizer: what is typed never becomes a control token,
// decoding gives the text back, streaming equals decoding at once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../tests/unit/tokenizer/small_tokenizer.hpp"
#include "sightline/error.hpp"
#include "tokenizer/stream_decoder.hpp"
#include "tokenizer/tokenizer.hpp"

namespace {

using namespace sightline;
using namespace sightline::tokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

Tokenizer make(bool nfc) {
  SmallTokenizer small;
  small.nfc = nfc;
  return small.make();
}

// Text without normaliser comes back byte for byte, in both modes.
void check_round_trip(const Tokenizer& plain, std::string_view text) {
  require(plain.decode(plain.encode(text)) == text);
  const auto ids = plain.encode(text, ControlTokens::plain_text);
  require(plain.decode(ids) == text);
  for (const TokenId id : ids) require(!plain.is_added(id));
}

// Origins change every few bytes; each control token found must be one that its bytes' writers may
// write.
void check_origins(const Tokenizer& tokenizer, std::string_view text, unsigned seed) {
  SourceText source;
  source.parts = {{"user", 0, false}, {"assistant", 1, true}};
  while (source.size() < text.size()) {
    seed = seed * 1664525 + 1013904223;  // Numerical Recipes' generator: cheap and repeatable
    const Origin origin = (seed >> 16) % 2 == 0 ? kTemplateOrigin : 1 + (seed >> 17) % 2;
    source.append(text.substr(source.size(), 1 + (seed >> 24) % 7), origin);
  }
  const Encoding encoding = tokenizer.encode(source);
  require(encoding.ids.size() == encoding.begins.size());
  for (std::size_t k = 0; k < encoding.ids.size(); ++k) {
    if (!tokenizer.is_added(encoding.ids[k])) continue;
    const std::string_view content = tokenizer.piece(encoding.ids[k]);
    for (std::size_t i = encoding.begins[k]; i < encoding.begins[k] + content.size(); ++i) {
      require(source.origins[i] == kTemplateOrigin ||
              (source.origins[i] == 2 && !tokenizer.is_special(encoding.ids[k])));
    }
  }
}

// The input's bytes as ids, two of them to an id, so that added and unknown ids come up too.
void check_stream(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    ids.push_back(static_cast<unsigned char>(bytes[i]) + (bytes[i + 1] % 4 == 0 ? 256 : 0));
  }
  for (const bool skip : {false, true}) {
    StreamDecoder decoder(tokenizer, skip);
    std::string sum;
    for (const TokenId id : ids) sum += decoder.push(id);
    require(sum + decoder.flush() == tokenizer.decode(ids, skip));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer kNfc = make(true);
  static const Tokenizer kPlain = make(false);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_stream(kNfc, text);
  try {
    check_round_trip(kPlain, text);
    (void)kNfc.encode(text);
    check_origins(kNfc, text, static_cast<unsigned>(size));
  } catch (const Error& error) {
    require(error.code() == Code::invalid_utf8);
  }
  return 0;
}
