// TIFF: the first page. Samples of 1 to 16 bits in strips or tiles, grey, palette, RGB, CMYK and
// JPEG pixels are unpacked here, so that they come out as in the reference; other colour spaces go
// through libtiff's RGBA reader.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "image/exif.hpp"
#include "image/tiff_file.hpp"
#include "image/tiff_page.hpp"

namespace sightline::image {
namespace {

// What is read, by the number in the file; the others are rare, or (old-style JPEG) too fragile.
bool is_supported_compression(std::uint16_t compression) {
  constexpr std::array<std::uint16_t, 12> kSupported{
      COMPRESSION_NONE,     COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3, COMPRESSION_CCITTFAX4,
      COMPRESSION_LZW,      COMPRESSION_JPEG,     COMPRESSION_DEFLATE,   COMPRESSION_ADOBE_DEFLATE,
      COMPRESSION_PACKBITS, COMPRESSION_LZMA,     COMPRESSION_ZSTD,      COMPRESSION_WEBP};
  return std::ranges::find(kSupported, compression) != kSupported.end();
}

int stored_orientation(const TiffFile& file) {
  std::uint16_t orientation = 0;
  if (TIFFGetField(file.handle(), TIFFTAG_ORIENTATION, &orientation) != 0) {
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  std::uint32_t size = 0;
  const char* packet = nullptr;
  if (TIFFGetField(file.handle(), TIFFTAG_XMLPACKET, &size, &packet) != 0) {
    return std::max(xmp_orientation({packet, size}), 1);
  }
  return 1;
}

// Through libtiff's RGBA reader: words with red in the lowest byte. Its alpha, if any, is ignored.
void read_as_rgba(const TiffFile& file, Canvas& canvas, std::int64_t band_rows) {
  char message[1024] = {};  // the size that libtiff asks for
  TIFFRGBAImage image{};
  if (TIFFRGBAImageOK(file.handle(), message) == 0 ||
      TIFFRGBAImageBegin(&image, file.handle(), 1, message) == 0) {
    fail_unsupported(file.source(), message);
  }
  const std::unique_ptr<TIFFRGBAImage, decltype(&TIFFRGBAImageEnd)> guard(&image, TIFFRGBAImageEnd);
  image.req_orientation = image.orientation;  // turned later, as for every other format
  band_rows = std::min(band_rows, canvas.height());
  const auto width = static_cast<std::size_t>(canvas.width());
  const std::unique_ptr<std::uint32_t[]> raster(
      new std::uint32_t[static_cast<std::size_t>(band_rows) * width]);
  std::vector<std::uint8_t> row(width * 3);
  for (std::int64_t top = 0; top < canvas.height(); top += band_rows) {
    const std::int64_t rows = std::min(band_rows, canvas.height() - top);
    image.row_offset = static_cast<int>(top);
    file.require(TIFFRGBAImageGet(&image, raster.get(), static_cast<std::uint32_t>(width),
                                  static_cast<std::uint32_t>(rows)) != 0);
    for (std::size_t y = 0; y < static_cast<std::size_t>(rows); ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const std::uint32_t pixel = raster[y * width + x];
        for (std::size_t c = 0; c < 3; ++c)
          row[x * 3 + c] = static_cast<std::uint8_t>(pixel >> (8 * c));
      }
      canvas.add_row(row.data(), Layout::rgb);
    }
  }
}

void read_pixels(const TiffFile& file, Canvas& canvas) {
  const TiffPage page = read_page_form(file, canvas.max_pixels());
  if (page.through_library) return read_as_rgba(file, canvas, page.band_rows);
  TiffBands bands(file, page);
  const TiffUnpacker unpacker(file, page);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(page.width) * 4);
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    if (y % page.band_rows == 0) bands.load(y);
    unpacker.unpack(bands, y % page.band_rows, row.data());
    canvas.add_row(row.data(), unpacker.layout());
  }
}

}  // namespace

void decode_tiff(const Source& source, Canvas& canvas) {
  const TiffFile file(source);
  canvas.start(file.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH),
               file.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH));
  const auto compression = file.tag<std::uint16_t>(TIFFTAG_COMPRESSION);
  if (!is_supported_compression(compression)) {
    fail_unsupported(source, fmt::format("compression {}", compression));
  }
  canvas.report().orientation = stored_orientation(file);
  read_pixels(file, canvas);
  if (!file.warning().empty()) canvas.warn(file.warning());
  canvas.report().frames_ignored =
      std::max<std::int64_t>(std::int64_t{TIFFNumberOfDirectories(file.handle())} - 1, 0);
}

}  // namespace sightline::image
