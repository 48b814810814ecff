// BMP by an own reader (no system library has one): 1, 4, 8, 16, 24 and 32 bits, bit fields, run
// lengths, rows from the bottom or the top. Scaling of narrow fields and the meaning of unusual
// headers follow Pillow.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "image/bmp_run_lengths.hpp"
#include "image/codec.hpp"

namespace sightline::image {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kCoreHeader = 12;  // OS/2 1.x: 16-bit sizes, 3-byte palette
constexpr std::array<std::uint32_t, 6> kInfoHeaders{40, 52, 56, 64, 108, 124};

enum Compression : std::uint32_t {
  kRaw = 0,
  kRle8 = 1,
  kRle4 = 2,
  kBitFields = 3,
  kAlphaBitFields = 6
};

struct Header {
  std::uint32_t bytes = 0;
  std::int64_t width = 0, height = 0;
  bool top_down = false;
  std::uint32_t bits = 0, compression = kRaw, colours = 0;
  std::array<std::uint32_t, 4> masks{};  // red, green, blue, alpha
  std::size_t palette = 0, pixels = 0;   // offsets in the file
  std::size_t palette_entry = 4;
};

class Bytes {
 public:
  explicit Bytes(const Source& source) : source_(source) {}

  [[nodiscard]] std::uint32_t u16(std::size_t at) const { return number(at, 2); }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return number(at, 4); }
  /// `count` bytes at `at`; throws when the file ends before.
  [[nodiscard]] const std::uint8_t* at(std::size_t at, std::size_t count) const {
    const std::size_t size = source_.bytes.size();
    if (at > size || size - at < count) {
      fail_corrupt(source_,
                   fmt::format("expected {} bytes at offset {}, the file has {}", count, at, size));
    }
    return reinterpret_cast<const std::uint8_t*>(source_.bytes.data()) + at;
  }

 private:
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t width) const {
    const std::uint8_t* bytes = this->at(at, width);
    std::uint32_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | bytes[i];
    return value;
  }

  const Source& source_;
};

void read_core_header(const Bytes& bytes, Header& header) {
  header.width = bytes.u16(18);
  header.height = bytes.u16(20);
  header.bits = bytes.u16(24);
  header.palette_entry = 3;
}

void read_info_header(const Bytes& bytes, Header& header) {
  header.width = static_cast<std::int32_t>(bytes.u32(18));
  header.height = static_cast<std::int32_t>(bytes.u32(22));
  header.top_down = header.height < 0;
  header.height = std::abs(header.height);
  header.bits = bytes.u16(28);
  header.compression = bytes.u32(30);
  header.colours = bytes.u32(46);
}

// Where the channels lie in 16-, 24- and 32-bit pixels. Three masks follow a 40-byte header, four
// are part of a longer one.
void read_masks(const Bytes& bytes, Header& header) {
  constexpr std::size_t kMasks = kFileHeader + 40;
  const bool has_alpha = header.bytes >= 56 || header.compression == kAlphaBitFields;
  if (header.compression == kBitFields || header.compression == kAlphaBitFields) {
    for (std::size_t i = 0; i < (has_alpha ? 4U : 3U); ++i)
      header.masks[i] = bytes.u32(kMasks + 4 * i);
    if (header.bytes == 40) header.palette += has_alpha ? 16 : 12;
  } else {
    header.masks = header.bits == 16 ? std::array<std::uint32_t, 4>{0x7C00, 0x3E0, 0x1F, 0}
                                     : std::array<std::uint32_t, 4>{0xFF0000, 0xFF00, 0xFF, 0};
  }
  if (header.bits == 32 && header.masks == std::array<std::uint32_t, 4>{}) {
    header.masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000};
  }
}

void check_supported(const Source& source, const Header& header) {
  const bool fields = header.compression == kBitFields || header.compression == kAlphaBitFields;
  const bool known =
      header.compression == kRaw || (header.compression == kRle8 && header.bits == 8) ||
      (header.compression == kRle4 && header.bits == 4) || (fields && header.bits >= 16);
  if (!known || (header.bytes == 64 && header.compression > kRle4)) {
    fail_unsupported(source,
                     fmt::format("compression {} at {} bits", header.compression, header.bits));
  }
  constexpr std::array<std::uint32_t, 6> kDepths{1, 4, 8, 16, 24, 32};
  if (std::ranges::find(kDepths, header.bits) == kDepths.end()) {
    fail_unsupported(source, fmt::format("{} bits per pixel", header.bits));
  }
  if (header.compression != kRaw && !fields && header.top_down) {
    fail_corrupt(source, "run lengths with rows from the top");
  }
}

Header read_header(const Source& source, const Bytes& bytes) {
  Header header;
  header.bytes = bytes.u32(kFileHeader);
  header.palette = kFileHeader + header.bytes;
  if (header.bytes == kCoreHeader) {
    read_core_header(bytes, header);
  } else if (std::ranges::find(kInfoHeaders, header.bytes) != kInfoHeaders.end()) {
    read_info_header(bytes, header);
  } else {
    fail_unsupported(source, fmt::format("a header of {} bytes", header.bytes));
  }
  check_supported(source, header);
  if (header.bits > 8) {
    read_masks(bytes, header);
    header.colours = 0;
  } else if (header.colours == 0 || header.colours > 256) {
    header.colours = 1U << header.bits;
  }
  header.pixels = bytes.u32(10);
  const std::size_t after_palette = header.palette + header.palette_entry * header.colours;
  // Some writers leave the offset out, or count no palette.
  if (header.pixels <= kFileHeader + header.bytes) header.pixels = after_palette;
  return header;
}

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

// Entries that the file does not have (the pixels begin before them) are grey, as in Pillow.
Palette read_palette(const Bytes& bytes, const Header& header) {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  for (std::size_t i = 0; i < header.colours; ++i) {
    const std::size_t offset = header.palette + i * header.palette_entry;
    if (offset + header.palette_entry > header.pixels) break;
    const std::uint8_t* entry = bytes.at(offset, 3);
    palette[i] = {entry[2], entry[1], entry[0]};
  }
  return palette;
}

// One channel of a packed pixel, scaled to 8 bits as Pillow scales 5 and 6 bits: v * 255 / max,
// rounded down.
class Field {
 public:
  explicit Field(std::uint32_t mask)
      : mask_(mask), shift_(mask != 0 ? std::countr_zero(mask) : 0), max_(mask >> shift_) {}

  [[nodiscard]] bool contiguous() const { return (max_ & (max_ + std::uint64_t{1})) == 0; }
  [[nodiscard]] std::uint8_t of(std::uint32_t pixel) const {
    if (max_ == 0) return 0;
    return static_cast<std::uint8_t>(std::uint64_t{(pixel & mask_) >> shift_} * 255 / max_);
  }

 private:
  std::uint32_t mask_;
  int shift_;
  std::uint32_t max_;
};

class RowReader {
 public:
  RowReader(const Source& source, const Bytes& bytes, const Header& header)
      : bytes_(bytes),
        header_(header),
        fields_{Field(header.masks[0]), Field(header.masks[1]), Field(header.masks[2]),
                Field(header.masks[3])},
        channels_(header.masks[3] != 0 ? 4 : 3) {
    if (header.bits <= 8) palette_ = read_palette(bytes, header);
    if (!std::ranges::all_of(fields_, &Field::contiguous)) {
      fail_unsupported(source, "channel masks with holes");
    }
  }

  [[nodiscard]] Layout layout() const { return static_cast<Layout>(channels_); }

  /// Stored row y (from the top) as pixels of layout().
  void read(std::int64_t y, std::uint8_t* out) const {
    const std::int64_t stored = header_.top_down ? y : header_.height - 1 - y;
    const std::int64_t row_bits = header_.width * header_.bits;
    const auto stride = static_cast<std::size_t>((row_bits + 31) / 32 * 4);
    const std::uint8_t* row = bytes_.at(header_.pixels + static_cast<std::size_t>(stored) * stride,
                                        static_cast<std::size_t>((row_bits + 7) / 8));
    if (header_.bits <= 8) return read_indexed(row, out);
    for (std::int64_t x = 0; x < header_.width; ++x, out += channels_) {
      std::uint32_t pixel = 0;
      for (std::uint32_t b = 0; b < header_.bits; b += 8) pixel |= std::uint32_t{*row++} << b;
      for (int c = 0; c < channels_; ++c) out[c] = fields_[static_cast<std::size_t>(c)].of(pixel);
    }
  }

  /// One row of colour indices, a byte each.
  void expand(const std::uint8_t* indices, std::uint8_t* out) const {
    for (std::int64_t x = 0; x < header_.width; ++x, out += 3) {
      std::copy_n(palette_[indices[x]].data(), 3, out);
    }
  }

 private:
  void read_indexed(const std::uint8_t* row, std::uint8_t* out) const {
    const std::uint32_t mask = (1U << header_.bits) - 1;
    for (std::int64_t x = 0; x < header_.width; ++x, out += 3) {
      const std::int64_t bit = x * header_.bits;
      const auto shift = 8 - header_.bits - static_cast<std::uint32_t>(bit % 8);
      std::copy_n(palette_[row[bit / 8] >> shift & mask].data(), 3, out);
    }
  }

  const Bytes& bytes_;
  const Header& header_;
  std::array<Field, 4> fields_;
  int channels_;
  Palette palette_{};
};

void read_run_lengths(const Source& source, Canvas& canvas, const Header& header,
                      const RowReader& rows) {
  if (header.pixels > source.bytes.size()) fail_corrupt(source, "the pixels lie beyond the end");
  const auto indices = expand_run_lengths(source.bytes.substr(header.pixels), header.width,
                                          header.height, header.compression == kRle4);
  if (!indices) fail_corrupt(source, "the run lengths end early or leave the picture");
  std::vector<std::uint8_t> row(static_cast<std::size_t>(header.width * 3));
  for (std::int64_t y = header.height - 1; y >= 0; --y) {
    rows.expand(indices->data() + y * header.width, row.data());
    canvas.add_row(row.data(), Layout::rgb);
  }
}

}  // namespace

void decode_bmp(const Source& source, Canvas& canvas) {
  const Bytes bytes(source);
  const Header header = read_header(source, bytes);
  canvas.start(header.width, header.height);
  const RowReader rows(source, bytes, header);
  if (header.compression == kRle8 || header.compression == kRle4) {
    return read_run_lengths(source, canvas, header, rows);
  }
  const int channels = static_cast<int>(rows.layout());
  std::vector<std::uint8_t> row(static_cast<std::size_t>(header.width * channels));
  for (std::int64_t y = 0; y < header.height; ++y) {
    rows.read(y, row.data());
    canvas.add_row(row.data(), rows.layout());
  }
}

}  // namespace sightline::image
