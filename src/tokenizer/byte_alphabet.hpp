// The byte-level alphabet: every byte has a printable character that stands for it in
// tokenizer.json. Pure functions; depends on utf8.hpp alone.
#pragma once

#include <string>
#include <string_view>

namespace sightline::tokenizer {

/// The character (as UTF-8) that stands for `byte`. HF: tokenizers,
/// pre_tokenizers::byte_level::bytes_char.
std::string_view byte_character(unsigned char byte);

/// Bytes that a piece of the vocabulary stands for. A piece with a character outside the alphabet
/// stands for its own UTF-8. HF: tokenizers, ByteLevel::decode_chain. `piece` must be valid UTF-8.
void append_piece_bytes(std::string& out, std::string_view piece);

}  // namespace sightline::tokenizer
