// The tokenizer of a checkpoint: text to ids and back, exactly as tokenizer.json says.
// Immutable after loading and safe to share between threads. What a call needs besides lies in
// encoder.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.hpp"
#include "tokenizer/token_id.hpp"
#include "tokenizer/tokenizer_file.hpp"

namespace sightline::tokenizer {

/// What becomes of added tokens (`<|im_end|>`, `<think>`, …) that stand in a text.
enum class ControlTokens : std::uint8_t {
  recognised,  ///< cut out as the file says
  plain_text,  ///< ordinary text; no id of an added token comes out
};

/// Longest text that one call encodes, in bytes.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// Ids with the place where each began.
struct Encoding {
  std::vector<TokenId> ids;
  /// For each id the offset, in the text given, of the first byte that it covers. A token that
  /// begins inside a run of characters changed by normalisation has the offset of that run (see
  /// NfcText::source_offset). Never falls.
  std::vector<std::size_t> begins;
};

/// A loaded tokenizer.json. Source: specification section 4.1.
class Tokenizer {
 public:
  /// Reads a tokenizer.json. Throws Error(missing_file) if there is none, Error(file_unreadable),
  /// and what parse() throws.
  static Tokenizer load(const std::string& path);
  /// Takes the text of a tokenizer.json; `name` is what errors call it, `options` how its pattern
  /// is run. Throws Error(invalid_tokenizer).
  static Tokenizer parse(std::string_view json, const std::string& name,
                         const PretokenizeOptions& options = {});

  /// The ids of a text. HF: tokenizers, Tokenizer::encode without special tokens. `name` is what
  /// errors call the text. Throws Error(invalid_utf8) with the byte offset, Error(match_limit),
  /// Error(memory_limit) above kMaxTextBytes.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            ControlTokens mode = ControlTokens::recognised,
                                            const std::string& name = "text") const;
  /// The ids of a rendered prompt. An added token counts only where all of its bytes come from the
  /// template, or, if its `special` flag is false, from the template and parts of assistant
  /// messages; anywhere else it is ordinary text. Throws as the other encode().
  [[nodiscard]] Encoding encode(const SourceText& source, const std::string& name = "prompt") const;

  /// The text of ids. Bytes that are no UTF-8 become U+FFFD as Rust's from_utf8_lossy has it;
  /// unknown ids give nothing; `skip_special` leaves out added tokens whose `special` flag is true.
  /// HF: tokenizers, Tokenizer::decode.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;
  /// The bytes that an id stands for; nothing for an unknown id.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;
  /// The string as stored in the file: a piece of the byte-level alphabet, or an added token's
  /// content. Throws Error(invalid_token_id).
  [[nodiscard]] std::string_view piece(TokenId id) const;

  /// The id of a string as stored in the file, or nothing. HF: Tokenizer::token_to_id.
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view piece) const noexcept;
  /// Number of ids, added tokens included; the valid ids are 0 to this minus 1.
  [[nodiscard]] std::size_t vocab_size() const noexcept { return parts_.vocabulary.size(); }
  [[nodiscard]] bool contains(TokenId id) const noexcept { return parts_.vocabulary.contains(id); }
  /// True for every added token, whatever its `special` flag.
  [[nodiscard]] bool is_added(TokenId id) const noexcept { return kind(id) != Kind::ordinary; }
  /// True for added tokens whose `special` flag is true.
  [[nodiscard]] bool is_special(TokenId id) const noexcept { return kind(id) == Kind::special; }
  /// The added tokens in the file's order.
  [[nodiscard]] std::span<const AddedToken> added_tokens() const noexcept { return parts_.added; }

 private:
  friend class Encoder;
  enum class Kind : std::uint8_t { ordinary, added, special };

  explicit Tokenizer(TokenizerFile parts);
  [[nodiscard]] Kind kind(TokenId id) const noexcept;

  TokenizerFile parts_;
  AddedTokenMatcher matcher_;
  std::vector<Kind> kinds_;  // by id
};

}  // namespace sightline::tokenizer
