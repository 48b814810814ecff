// Takes tokenizer.json apart while it streams by: vocabulary and merges go into flat arenas,
// everything else into one small Json. Knows the file's shape only as far as that needs;
// read_tokenizer_file() checks the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"
#include "tokenizer/vocabulary.hpp"

namespace sightline::tokenizer {

/// `model.merges` as it stands in the file: the two parts of every merge one after the other in
/// `text`.
struct MergeEntries {
  struct Entry {
    std::uint32_t begin, left, right;  // lengths of the parts
  };
  std::string text;
  std::vector<Entry> entries;

  [[nodiscard]] std::string_view left(const Entry& e) const {
    return std::string_view(text).substr(e.begin, e.left);
  }
  [[nodiscard]] std::string_view right(const Entry& e) const {
    return std::string_view(text).substr(e.begin + e.left, e.right);
  }
  [[nodiscard]] std::string_view both(const Entry& e) const {
    return std::string_view(text).substr(e.begin, e.left + e.right);
  }
};

/// The sink. Throws Error(invalid_tokenizer) on a repeated key and on entries of the wrong type.
class FileSink final : public io::JsonSink {
 public:
  /// `bytes` is the document's size: room that is reserved, used or not.
  FileSink(const std::string& file, std::size_t bytes);

  void start_object() override;
  void key(std::string&& name) override;
  void end_object() override;
  void start_array() override;
  void end_array() override;
  void string(std::string&& value) override;
  void literal(io::Json value) override;

  VocabularyEntries vocabulary;  ///< model.vocab
  MergeEntries merges;           ///< model.merges
  io::Json rest;  ///< the document; model.vocab and model.merges are empty where they were taken

 private:
  enum class Mode : std::uint8_t { rest, vocabulary, merges, pair };

  [[nodiscard]] bool at(std::string_view outer, std::string_view inner) const;
  [[nodiscard]] std::string merge_path() const;
  void open(io::Json value);
  void close();
  void put(io::Json value);
  void leave(Mode from);
  void merge_text(std::string_view text);
  [[noreturn]] void refuse(const io::Json& found) const;

  const std::string& file_;
  Mode mode_ = Mode::rest;
  std::vector<io::Json> open_;     // containers from the root to the current one
  std::vector<std::string> keys_;  // the current key of each, empty for arrays
  std::uint32_t parts_ = 0;        // of the current pair
};

}  // namespace sightline::tokenizer
