// Added tokens: the strings that are cut out of text before anything else happens to it.
// Immutable after construction; depends on nothing else of this layer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/token_id.hpp"

namespace sightline::tokenizer {

/// One entry of `added_tokens` in tokenizer.json.
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special =
      false;  ///< left out when decoding with skip_special; never from somebody's message
};

/// Longest content that is accepted; it bounds the time that one position of a text can take.
inline constexpr std::size_t kMaxAddedTokenBytes = 1024;

/// Finds added tokens in text: leftmost first, of those that start there the longest.
/// HF: tokenizers, AddedVocabulary::find_matches (Aho-Corasick, leftmost-longest).
class AddedTokenMatcher {
 public:
  struct Match {
    std::size_t begin, end;
    const AddedToken* token;
  };
  /// Says whether an occurrence in bytes [begin, end) counts; one that does not is ordinary text.
  using Permit = std::function<bool(std::size_t begin, std::size_t end, const AddedToken& token)>;

  AddedTokenMatcher() = default;
  /// Contents must be distinct and not empty.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  /// The first permitted occurrence that starts at or after `from`, or nothing.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from,
                                          const Permit& permit) const;

 private:
  [[nodiscard]] const AddedToken* longest_at(std::string_view text, std::size_t begin,
                                             const Permit& permit) const;

  std::vector<AddedToken> tokens_;                                            // sorted by content
  std::array<std::pair<std::uint32_t, std::uint32_t>, 256> by_first_byte_{};  // range in tokens_
};

}  // namespace sightline::tokenizer
