// Regular expressions over module names, as quantised checkpoints write them in config.json. The
// only user of PCRE2 below the tokenizer. Immutable, shared by threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/json.hpp"

namespace sightline::io {

class NamePattern {
 public:
  /// Compiles `text`; `place` is where it stands in the configuration. Throws Error of the reader's
  /// code if it is no regular expression.
  NamePattern(const std::string& text, const JsonReader& place);

  /// True if the expression matches at the beginning of `name` (Python: re.match), whatever comes
  /// after. Gives up, as no match, beyond a limit of steps.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace sightline::io
