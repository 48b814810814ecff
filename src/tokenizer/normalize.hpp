// Unicode NFC with a way back to the source: the only user of utf8proc.
// A value that keeps a view of its source; pure otherwise.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::tokenizer {

/// The NFC form of a text and, for every byte of it, where it came from. HF: tokenizers,
/// normalizers::NFC, whose tables are those of Unicode 9: code points younger than that never
/// combine, reorder or decompose.
class NfcText {
 public:
  /// `source` must be valid UTF-8 and outlive this object.
  explicit NfcText(std::string_view source);

  /// The normalised text; the source itself where nothing changes.
  [[nodiscard]] std::string_view text() const noexcept {
    return changed_.empty() ? source_ : text_;
  }
  /// Offset in the source of text()[offset]. Inside a run of characters that normalisation changed,
  /// this is the run's first byte; everywhere else it is exact.
  [[nodiscard]] std::size_t source_offset(std::size_t offset) const noexcept;

 private:
  struct Run {
    std::size_t begin, end;                // in the normalised text
    std::size_t source_begin, source_end;  // in the source
  };
  void add_run(std::size_t begin, std::size_t end);

  std::string_view source_;
  std::string text_;        // normalised, complete only when changed_ is not empty
  std::size_t copied_ = 0;  // source bytes that text_ covers
  std::vector<Run> changed_;
};

}  // namespace sightline::tokenizer
