// Text that remembers where every byte came from: the template itself, or a part of somebody's
// message. Made by chat/, consumed by tokenizer/: control tokens are recognised only where the
// origin permits it, so what a user types can never become one. A value type; not thread-safe while
// being changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline {

/// 0 is the chat template's own text; n > 0 is the part with index n - 1 in SourceParts.
using Origin = std::uint32_t;
inline constexpr Origin kTemplateOrigin = 0;

/// One piece of input that text can come from.
struct SourcePart {
  std::string where;  ///< JSON path, e.g. "messages[1].content[2].text", "tools[0]", "kwargs.x"
  int message = -1;   ///< index of the message, -1 for tools and keyword arguments
  bool assistant = false;  ///< the part stands in a message whose role is assistant
};

/// Bytes and one origin for each byte; the two always have one length.
struct SourceText {
  std::string bytes;
  std::vector<Origin> origins;
  std::vector<SourcePart>
      parts;  ///< filled for whole rendered prompts; origin n refers to parts[n - 1]

  [[nodiscard]] std::size_t size() const noexcept { return bytes.size(); }

  void append(std::string_view text, Origin origin) {
    bytes.append(text);
    origins.insert(origins.end(), text.size(), origin);
  }
  void append(const SourceText& other) {
    bytes.append(other.bytes);
    origins.insert(origins.end(), other.origins.begin(), other.origins.end());
  }
  /// Bytes [begin, end) with their origins; parts are not copied.
  [[nodiscard]] SourceText slice(std::size_t begin, std::size_t end) const {
    SourceText part;
    part.bytes = bytes.substr(begin, end - begin);
    part.origins.assign(origins.begin() + static_cast<std::ptrdiff_t>(begin),
                        origins.begin() + static_cast<std::ptrdiff_t>(end));
    return part;
  }
};

}  // namespace sightline
