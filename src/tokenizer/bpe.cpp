// The merge table and the merging itself: a linked list of symbols and a heap of candidate merges.
#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <bit>

namespace sightline::tokenizer {
namespace {

constexpr std::uint64_t kNoPair = UINT64_MAX;  // ids are below 2^31, so no pair looks like this

std::uint64_t pair_of(TokenId left, TokenId right) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t count)
    : slots_(std::bit_ceil(2 * count + 1), Slot{kNoPair, {}}) {}

std::size_t MergeTable::first_slot(std::uint64_t pair) const noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio
  const std::uint64_t hash = (pair ^ pair >> 29) * kOdd;
  return static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);
}

std::size_t MergeTable::slot_of(std::uint64_t pair) const noexcept {
  std::size_t i = first_slot(pair);
  while (slots_[i].pair != pair && slots_[i].pair != kNoPair) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void MergeTable::prefetch(TokenId left, TokenId right) const noexcept {
  if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(pair_of(left, right))]);
}

bool MergeTable::insert(TokenId left, TokenId right, Merge merge) noexcept {
  const std::uint64_t pair = pair_of(left, right);
  Slot& slot = slots_[slot_of(pair)];
  if (slot.pair == pair) return false;
  slot = {pair, merge};
  return true;
}

const Merge* MergeTable::find(TokenId left, TokenId right) const noexcept {
  if (slots_.empty()) return nullptr;
  const std::uint64_t pair = pair_of(left, right);
  const Slot& slot = slots_[slot_of(pair)];
  return slot.pair == pair ? &slot.merge : nullptr;
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  const auto length = static_cast<std::int32_t>(word.size());
  for (std::int32_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(word[static_cast<std::size_t>(i)]);
    symbols.push_back({byte_ids_[byte], i - 1, i + 1 < length ? i + 1 : -1});
  }
  for (std::int32_t i = 0; i + 1 < length; ++i) consider(i, i + 1, scratch);
  apply_merges(scratch);
  for (const auto& symbol : symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

void Bpe::consider(std::int32_t left, std::int32_t right, Scratch& scratch) const {
  const auto& symbols = scratch.symbols;
  const Merge* merge = merges_.find(symbols[static_cast<std::size_t>(left)].id,
                                    symbols[static_cast<std::size_t>(right)].id);
  if (merge == nullptr) return;
  scratch.heap.push_back({merge->rank, left, merge->id});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void Bpe::apply_merges(Scratch& scratch) const {
  auto& heap = scratch.heap;
  const auto symbol = [&](std::int32_t i) -> Scratch::Symbol& {
    return scratch.symbols[static_cast<std::size_t>(i)];
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    auto& left = symbol(best.position);
    if (left.id < 0 || left.next < 0) continue;
    auto& right = symbol(left.next);
    // One of the two may have changed since: the candidate counts only if they still make this
    // token.
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != best.id) continue;
    left.id = best.id;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbol(left.next).previous = best.position;
    if (left.previous >= 0) consider(left.previous, best.position, scratch);
    if (left.next >= 0) consider(best.position, left.next, scratch);
  }
}

}  // namespace sightline::tokenizer
