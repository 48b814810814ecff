// The pre-tokenizer: the pattern of tokenizer.json cuts text into words. The only user of PCRE2.
// A Pretokenizer is immutable; each thread makes a Splitter of its own for a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::tokenizer {

/// How the pattern is run; the defaults are the product's, the rest is for tests.
struct PretokenizeOptions {
  bool jit = true;                         ///< compiled if the machine lets us, else interpreted
  std::uint32_t match_limit = 10'000'000;  ///< backtracking steps of one match; PCRE2's own default
};

/// A compiled pattern.
class Pretokenizer {
 public:
  Pretokenizer() = default;
  /// Compiles `pattern`. Throws Error(invalid_tokenizer) naming `file` and `path` if it is no
  /// regular expression or one that check_pattern() refuses.
  Pretokenizer(const std::string& pattern, const std::string& file, const std::string& path,
               const PretokenizeOptions& options = {});

 private:
  friend class Splitter;
  std::shared_ptr<const void> code_;  // pcre2_code
  PretokenizeOptions options_;
};

/// The working memory of one caller: match data and the compiled matcher's stack.
class Splitter {
 public:
  explicit Splitter(const Pretokenizer& pretokenizer);

  /// Cuts valid UTF-8 into words: matches and what lies between them (HF: Split, behavior
  /// Isolated). Replaces `ends` by the end offsets of the words, which lie one after the other from
  /// byte 0. Returns the offset at which a match ran into a limit, or nothing.
  std::optional<std::size_t> split(std::string_view text, std::vector<std::size_t>& ends);

 private:
  struct Match {
    std::size_t begin, end;
  };
  enum class Outcome : std::uint8_t { match, no_match, limit };
  Outcome match(std::string_view text, std::size_t from, Match& found);

  std::shared_ptr<const void> code_;
  std::shared_ptr<void> context_, stack_, data_;
  std::string stand_ins_;
};

}  // namespace sightline::tokenizer
