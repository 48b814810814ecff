// Byte-pair encoding of one pre-token: the table of merges and the algorithm that applies them in
// rank order. Tables are read-only after loading; a Bpe::Scratch belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/token_id.hpp"

namespace sightline::tokenizer {

/// What two neighbours become, and how early.
struct Merge {
  std::uint32_t rank;  ///< position in the file's list; lower is applied first
  TokenId id;          ///< the merged token
};

/// Merges by pair of neighbours: a flat hash table.
class MergeTable {
 public:
  MergeTable() = default;
  /// A table with room for `count` merges.
  explicit MergeTable(std::size_t count);

  /// Adds a merge; false if the pair has one already. At most `count` may be added.
  bool insert(TokenId left, TokenId right, Merge merge) noexcept;
  /// Brings what insert() and find() will read first into the cache; changes nothing.
  void prefetch(TokenId left, TokenId right) const noexcept;
  /// The merge of two neighbours, or nullptr.
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const noexcept;

 private:
  struct Slot {
    std::uint64_t pair;
    Merge merge;
  };
  [[nodiscard]] std::size_t first_slot(std::uint64_t pair) const noexcept;
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

/// Splits the bytes of a word into tokens.
class Bpe {
 public:
  /// Working memory, kept between words so that encoding allocates little.
  class Scratch {
    friend class Bpe;
    struct Symbol {
      TokenId id;  // -1: swallowed by its left neighbour
      std::int32_t previous, next;
    };
    struct Candidate {
      std::uint32_t rank;
      std::int32_t position;
      TokenId id;
      /// Order of a heap whose top is the lowest rank, then the leftmost position.
      friend bool operator<(const Candidate& a, const Candidate& b) {
        return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
      }
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  using ByteIds = std::array<TokenId, 256>;  ///< the token of each single byte

  Bpe() = default;
  Bpe(MergeTable merges, const ByteIds& byte_ids)
      : merges_(std::move(merges)), byte_ids_(byte_ids) {}

  /// Appends the tokens of `word` (shorter than 2^31 bytes) to `out`. Takes O(n log n) for n bytes.
  /// HF: tokenizers, models::bpe::Word::merge_all.
  void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  void consider(std::int32_t left, std::int32_t right, Scratch& scratch) const;
  void apply_merges(Scratch& scratch) const;

  MergeTable merges_;
  ByteIds byte_ids_{};
};

}  // namespace sightline::tokenizer
