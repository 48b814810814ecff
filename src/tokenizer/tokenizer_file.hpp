// tokenizer.json read and checked: what sightline runs of it, in the form in which it runs.
// Everything in the file that would change ids or text and is not run here is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/pretokenize.hpp"
#include "tokenizer/vocabulary.hpp"

namespace sightline::tokenizer {

/// A file above this size is refused before it is parsed; published ones have 7 to 20 MB.
inline constexpr std::size_t kMaxTokenizerFileBytes = std::size_t{512} << 20;

/// The parts of a tokenizer. Read-only after loading.
struct TokenizerFile {
  Vocabulary vocabulary;          ///< the model's pieces, then the added tokens
  Bpe bpe;                        ///< merges
  std::vector<AddedToken> added;  ///< in the file's order
  Pretokenizer pretokenizer;      ///< the split pattern
  bool nfc = false;               ///< normalizer NFC, else none
  bool ignore_merges = false;     ///< a word that is a piece becomes that piece
};

/// Reads tokenizer.json (specification section 4.1). `file` is what errors call it. Accepted:
/// version 1.0; added tokens that are not normalized, single_word, lstrip or rstrip; normalizer NFC
/// or null; pre-tokenizer Sequence of Split (Regex, Isolated) and ByteLevel; post-processor
/// ByteLevel or null; decoder ByteLevel; model BPE over bytes. `truncation` and `padding` are
/// settings of a call, not of the vocabulary, and are not read. Throws Error(invalid_tokenizer)
/// with file, path, expected and found.
TokenizerFile read_tokenizer_file(std::string_view json, const std::string& file,
                                  const PretokenizeOptions& options = {});

}  // namespace sightline::tokenizer
