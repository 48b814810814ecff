// The two long lists of tokenizer.json, read by hand: they are nine tenths of the start of the
// program when a JSON parser reads them event by event. Reads only what is written as published
// files are; whatever is not is left to the parser, whose results and messages are the definition.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/file_sink.hpp"
#include "tokenizer/vocabulary.hpp"

namespace sightline::tokenizer {

/// A document without its lists.
struct ShortDocument {
  VocabularyEntries vocabulary;  ///< model.vocab
  MergeEntries merges;           ///< model.merges
  std::string rest;              ///< the document, `{}` and `[]` in their places
};

/// Takes the lists out of a document. If `rest` is valid JSON, so is `document`, and FileSink takes
/// the same entries from it. Nothing if a list is absent, or has an entry of another form: ids are
/// plain digits up to INT32_MAX, pieces valid UTF-8 with no escapes but \" and \\, merges two
/// pieces in an array or in one string with one space.
std::optional<ShortDocument> take_lists(std::string_view document);

}  // namespace sightline::tokenizer
