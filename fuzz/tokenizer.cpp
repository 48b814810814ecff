// tokenizer.json: any bytes are either a tokenizer that encodes and decodes, or an Error; lists
// read by hand are those that the parser reads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../tests/unit/tokenizer/same_lists.hpp"
#include "sightline/error.hpp"
#include "tokenizer/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline::tokenizer;
  constexpr std::uint32_t kMatchLimit = 10'000;  // patterns may be wild; a short run is enough
  try {
    const std::string_view json(reinterpret_cast<const char*>(data), size);
    if (!agrees_with_parser(json)) std::abort();
    const Tokenizer tokenizer = Tokenizer::parse(json, "fuzz", {size % 2 == 0, kMatchLimit});
    const std::string text = "hello it's <|im_end|><think> 12\r\n\n e\xCC\x81\xE4\xB8\xAD!";
    (void)tokenizer.decode(tokenizer.encode(text), true);
    for (const TokenId id : tokenizer.encode(text, ControlTokens::plain_text)) {
      if (!tokenizer.contains(id) || tokenizer.is_added(id)) std::abort();
    }
    for (TokenId id = 0; tokenizer.contains(id); ++id) {
      if (tokenizer.id_of(tokenizer.piece(id)) != id) std::abort();
    }
  } catch (const sightline::Error&) {
  }
  return 0;
}
