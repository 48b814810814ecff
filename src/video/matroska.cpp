// Elements of EBML: an id, a size, content (matroska.hpp).
#include "video/matroska.hpp"

#include <bit>

namespace sightline::video {
namespace {

constexpr std::uint64_t kHeader = 0x1A45DFA3, kSegment = 0x18538067;
constexpr int kMostIdBytes = 4, kMostSizeBytes = 8;

/// A number whose length stands in its first byte: as many zero bits before the first one as bytes
/// follow.
struct Number {
  std::uint64_t value = 0;  ///< with the marking bit
  int bytes = 0;            ///< 0: not there

  [[nodiscard]] std::uint64_t unmarked() const {
    return value & ~(std::uint64_t{1} << (7 * bytes));
  }
  /// All bits set: the size is not known.
  [[nodiscard]] bool is_open() const { return unmarked() == (std::uint64_t{1} << (7 * bytes)) - 1; }
};

Number read_number(std::string_view bytes, int most) {
  if (bytes.empty()) return {};
  const int length = std::countl_zero(static_cast<std::uint8_t>(bytes.front())) + 1;
  if (length > most || static_cast<std::size_t>(length) > bytes.size()) return {};
  Number number;
  number.bytes = length;
  for (int i = 0; i < length; ++i)
    number.value =
        number.value << 8U | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
  return number;
}

}  // namespace

std::optional<std::int64_t> matroska_bytes(std::string_view head) {
  for (std::size_t at = 0; at < head.size();) {
    const Number id = read_number(head.substr(at), kMostIdBytes);
    if (id.bytes == 0 || (at == 0 && id.value != kHeader)) return std::nullopt;
    at += static_cast<std::size_t>(id.bytes);
    const Number size = read_number(head.substr(at), kMostSizeBytes);
    if (size.bytes == 0 || size.is_open()) return std::nullopt;
    at += static_cast<std::size_t>(size.bytes);
    const std::uint64_t content = size.unmarked();  // below 2^56
    if (id.value == kSegment) return static_cast<std::int64_t>(at + content);
    if (content > head.size() - at) return std::nullopt;
    at += content;
  }
  return std::nullopt;
}

}  // namespace sightline::video
