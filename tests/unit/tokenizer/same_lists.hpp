// The reading of lists by hand held against the parser, for tests and the fuzzer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "io/json.hpp"
#include "sightline/error.hpp"
#include "tokenizer/file_sink.hpp"
#include "tokenizer/list_reader.hpp"

namespace sightline::tokenizer {

/// What the parser gives of a document; nothing if it refuses it.
inline std::optional<ShortDocument> parsed(std::string_view document) {
  const std::string name = "t.json";
  FileSink sink(name, document.size());
  try {
    io::parse_json_events(document, name, sink);
  } catch (const Error&) {
    return std::nullopt;
  }
  return ShortDocument{std::move(sink.vocabulary), std::move(sink.merges),
                       io::to_json_text(sink.rest)};
}

inline bool same(const ShortDocument& a, const ShortDocument& b) {
  using Piece = VocabularyEntries::Entry;
  using Merge = MergeEntries::Entry;
  return a.vocabulary.text == b.vocabulary.text && a.merges.text == b.merges.text &&
         a.rest == b.rest &&
         std::ranges::equal(a.vocabulary.entries, b.vocabulary.entries,
                            [](const Piece& x, const Piece& y) {
                              return x.begin == y.begin && x.length == y.length && x.id == y.id;
                            }) &&
         std::ranges::equal(a.merges.entries, b.merges.entries, [](const Merge& x, const Merge& y) {
           return x.begin == y.begin && x.left == y.left && x.right == y.right;
         });
}

/// True if what take_lists() takes, where it and the parser of the rest accept a document, is what
/// the parser takes from all of it.
inline bool agrees_with_parser(std::string_view document) {
  std::optional<ShortDocument> taken = take_lists(document);
  if (!taken) return true;
  std::optional<ShortDocument> rest = parsed(taken->rest);
  if (!rest) return true;
  taken->rest = rest->rest;
  const std::optional<ShortDocument> whole = parsed(document);
  return whole && same(*taken, *whole);
}

}  // namespace sightline::tokenizer
