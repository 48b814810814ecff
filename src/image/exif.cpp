// A bounds-checked walk over the first image file directory of an EXIF block.
#include "image/exif.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::uint32_t kOrientationTag = 0x0112;  // EXIF 2.32, table 4
constexpr std::size_t kEntryBytes = 12;

// Field types of TIFF 6.0, section 2, that people write an orientation with.
enum FieldType : std::uint32_t { kByte = 1, kShort = 3, kLong = 4 };

class ByteOrderReader {
 public:
  ByteOrderReader(std::string_view bytes, bool big_endian) : bytes_(bytes), big_(big_endian) {}

  [[nodiscard]] std::optional<std::uint32_t> read(std::size_t offset, std::size_t width) const {
    if (offset > bytes_.size() || bytes_.size() - offset < width) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = offset + (big_ ? i : width - 1 - i);
      value = (value << 8) | static_cast<std::uint8_t>(bytes_[at]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

int valid_orientation(std::uint32_t value) {
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
}

std::size_t field_width(std::uint32_t type) {
  switch (type) {
    case kByte:
      return 1;
    case kShort:
      return 2;
    case kLong:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

int exif_orientation(std::string_view block) noexcept {
  if (block.starts_with("Exif\0\0"sv)) block.remove_prefix(6);
  const bool big = block.starts_with("MM"sv);
  if (!big && !block.starts_with("II"sv)) return 0;
  const ByteOrderReader reader(block, big);
  const std::size_t directory = reader.read(4, 4).value_or(0);
  const std::size_t entries = reader.read(directory, 2).value_or(0);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    const auto tag = reader.read(entry, 2);
    if (!tag) return 0;
    if (*tag != kOrientationTag) continue;
    const std::size_t width = field_width(reader.read(entry + 2, 2).value_or(0));
    return width == 0 ? 0 : valid_orientation(reader.read(entry + 8, width).value_or(0));
  }
  return 0;
}

int xmp_orientation(std::string_view packet) noexcept {
  constexpr std::string_view kName = "tiff:Orientation";
  const std::size_t name = packet.find(kName);
  if (name == std::string_view::npos) return 0;
  std::string_view rest = packet.substr(name + kName.size());
  for (const std::string_view opening : {"=\""sv, "='"sv, ">"sv}) {
    if (rest.starts_with(opening) && rest.size() > opening.size()) {
      return valid_orientation(static_cast<std::uint8_t>(rest[opening.size()]) -
                               std::uint32_t{'0'});
    }
  }
  return 0;
}

}  // namespace sightline::image
