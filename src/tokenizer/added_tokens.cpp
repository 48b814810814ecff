// Sorted contents serve as the trie: tokens that share a prefix are neighbours.
#include "tokenizer/added_tokens.hpp"

#include <algorithm>

namespace sightline::tokenizer {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    auto& range = by_first_byte_[byte_at(tokens_[i].content, 0)];
    if (range.second == 0) range.first = i;
    range.second = i + 1;
  }
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(std::string_view text,
                                                                std::size_t from,
                                                                const Permit& permit) const {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (by_first_byte_[byte_at(text, i)].second == 0) continue;
    if (const AddedToken* token = longest_at(text, i, permit))
      return Match{i, i + token->content.size(), token};
  }
  return std::nullopt;
}

const AddedToken* AddedTokenMatcher::longest_at(std::string_view text, std::size_t begin,
                                                const Permit& permit) const {
  const auto [first, last] = by_first_byte_[byte_at(text, begin)];
  auto low = tokens_.begin() + first;
  auto high = tokens_.begin() + last;
  const AddedToken* best = nullptr;
  // Invariant: the tokens in [low, high) are those whose first `depth` bytes stand at text[begin].
  for (std::size_t depth = 1; low != high; ++depth) {
    if (low->content.size() == depth) {
      if (permit(begin, begin + depth, *low)) best = &*low;
      ++low;
    }
    if (begin + depth == text.size()) break;
    const unsigned char next = byte_at(text, begin + depth);
    low = std::partition_point(
        low, high, [&](const AddedToken& t) { return byte_at(t.content, depth) < next; });
    high = std::partition_point(
        low, high, [&](const AddedToken& t) { return byte_at(t.content, depth) == next; });
  }
  return best;
}

}  // namespace sightline::tokenizer
