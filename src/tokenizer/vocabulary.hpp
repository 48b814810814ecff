// The vocabulary: pieces by id and ids by piece, in two arenas and one flat hash table.
// Filled while tokenizer.json is read, read-only afterwards. Uses byte_alphabet and file_fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/token_id.hpp"

namespace sightline::tokenizer {

/// `model.vocab` as it stands in the file: pieces one after the other in `text`.
struct VocabularyEntries {
  struct Entry {
    std::uint32_t begin, length;
    TokenId id;
  };
  std::string text;
  std::vector<Entry> entries;

  [[nodiscard]] std::string_view piece(const Entry& entry) const {
    return std::string_view(text).substr(entry.begin, entry.length);
  }
};

/// Pieces with the ids 0 to size() - 1, each once.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Takes the model's pieces. Throws Error(invalid_tokenizer) unless their ids are 0 to n - 1,
  /// each once, and every piece is there once.
  Vocabulary(const VocabularyEntries& entries, const std::string& file);

  /// Appends a piece under the id size(). The caller has made sure that it is new.
  TokenId add(std::string_view piece);

  /// The id of a piece as stored, or nothing.
  [[nodiscard]] std::optional<TokenId> find(std::string_view piece) const noexcept;
  /// Brings what find(piece) will read first into the cache; changes nothing.
  void prefetch(std::string_view piece) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return piece_ends_.size(); }
  [[nodiscard]] bool contains(TokenId id) const noexcept {
    return id >= 0 && static_cast<std::size_t>(id) < size();
  }
  /// The piece as stored in the file; contains(id) must hold.
  [[nodiscard]] std::string_view piece(TokenId id) const noexcept {
    return slice(pieces_, piece_ends_, id);
  }
  /// The bytes that the piece stands for; contains(id) must hold.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept {
    return slice(bytes_, byte_ends_, id);
  }

 private:
  struct Slot {
    std::uint32_t
        tag;     // high half of the hash: most strangers are told apart without a look at the arena
    TokenId id;  // -1: empty
  };
  using Ends = std::vector<std::uint32_t>;

  static std::string_view slice(const std::string& arena, const Ends& ends, TokenId id) noexcept;
  void append(std::string_view piece);
  void rebuild_table(std::size_t slots);
  bool insert(TokenId id) noexcept;  // false if another id has the same piece

  std::string pieces_, bytes_;
  Ends piece_ends_, byte_ends_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace sightline::tokenizer
