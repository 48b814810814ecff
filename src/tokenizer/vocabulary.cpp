// Builds the arenas in order of ids and the open-addressing table over them.
#include "tokenizer/vocabulary.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/file_fault.hpp"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kFirstSlots = 64;

template <typename T>
std::uint64_t load(const char* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The last bytes of a text of at most 8: two overlapping reads instead of a loop.
std::uint64_t load_short(const char* from, std::size_t size) noexcept {
  if (size >= 4) return load<std::uint32_t>(from) << 32 | load<std::uint32_t>(from + size - 4);
  if (size >= 2) return load<std::uint16_t>(from) << 16 | load<std::uint16_t>(from + size - 2);
  return size == 1 ? load<std::uint8_t>(from) : 0;
}

// Multiplies and folds eight bytes at a time; quality enough for tables that are at most half full.
std::uint64_t hash_of(std::string_view text) noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio
  const auto fold = [](std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    return hash ^ hash >> 29;
  };
  std::uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left > sizeof hash; at += sizeof hash, left -= sizeof hash) {
    hash = fold(hash, load<std::uint64_t>(at));
  }
  return fold(hash, left == sizeof hash ? load<std::uint64_t>(at) : load_short(at, left)) * kOdd;
}

std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash); }

// The table is entered with the hash's high bits, which depend on all of its input.
std::size_t first_slot(std::uint64_t hash, std::size_t slots) noexcept {
  return static_cast<std::size_t>(hash >> 32) & (slots - 1);
}

std::string entry_path(std::string_view piece) { return "model.vocab[" + quoted(piece) + "]"; }

}  // namespace

Vocabulary::Vocabulary(const VocabularyEntries& source, const std::string& file) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  const std::size_t count = source.entries.size();
  std::vector<std::uint32_t> by_id(count, kNone);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& entry = source.entries[i];
    const auto id = static_cast<std::size_t>(entry.id);
    if (id >= count) {
      fail_file(file, entry_path(source.piece(entry)),
                fmt::format("ids 0 to {}, one for each piece", count - 1),
                std::to_string(entry.id));
    }
    if (by_id[id] != kNone) {
      fail_file(
          file, entry_path(source.piece(entry)), "an id of its own",
          fmt::format("{}, the id of {}", id, quoted(source.piece(source.entries[by_id[id]]))));
    }
    by_id[id] = static_cast<std::uint32_t>(i);
  }
  pieces_.reserve(source.text.size());
  bytes_.reserve(source.text.size());
  piece_ends_.reserve(count);
  byte_ends_.reserve(count);
  rebuild_table(std::bit_ceil(2 * count + kFirstSlots));
  constexpr std::size_t kAhead = 16;  // pieces between asking for a cache line and using it
  for (std::size_t id = 0; id < count; ++id) {
    if (id + kAhead < count) prefetch(source.piece(source.entries[by_id[id + kAhead]]));
    const std::string_view piece = source.piece(source.entries[by_id[id]]);
    append(piece);
    if (!insert(static_cast<TokenId>(size() - 1))) {
      fail_file(file, entry_path(piece), "each piece once", "a second one");
    }
  }
}

TokenId Vocabulary::add(std::string_view piece) {
  if (2 * (size() + 1) > slots_.size()) rebuild_table(std::max(kFirstSlots, 2 * slots_.size()));
  append(piece);
  const auto id = static_cast<TokenId>(size() - 1);
  insert(id);
  return id;
}

std::optional<TokenId> Vocabulary::find(std::string_view piece) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = hash_of(piece);
  for (std::size_t i = first_slot(hash, slots_.size());; i = (i + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[i];
    if (slot.id < 0) return std::nullopt;
    if (slot.tag == tag_of(hash) && this->piece(slot.id) == piece) return slot.id;
  }
}

void Vocabulary::prefetch(std::string_view piece) const noexcept {
  if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(hash_of(piece), slots_.size())]);
}

std::string_view Vocabulary::slice(const std::string& arena, const Ends& ends,
                                   TokenId id) noexcept {
  const auto i = static_cast<std::size_t>(id);
  const std::size_t begin = i == 0 ? 0 : ends[i - 1];
  return std::string_view(arena).substr(begin, ends[i] - begin);
}

void Vocabulary::append(std::string_view piece) {
  pieces_.append(piece);
  append_piece_bytes(bytes_, piece);
  piece_ends_.push_back(static_cast<std::uint32_t>(pieces_.size()));
  byte_ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
}

void Vocabulary::rebuild_table(std::size_t slots) {
  slots_.assign(slots, Slot{0, -1});
  for (std::size_t id = 0; id < size(); ++id) insert(static_cast<TokenId>(id));
}

bool Vocabulary::insert(TokenId id) noexcept {
  const std::string_view text = piece(id);
  const std::uint64_t hash = hash_of(text);
  std::size_t i = first_slot(hash, slots_.size());
  for (; slots_[i].id >= 0; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].tag == tag_of(hash) && piece(slots_[i].id) == text) return false;
  }
  slots_[i] = {tag_of(hash), id};
  return true;
}

}  // namespace sightline::tokenizer
