// Tags of a TIFF page, strips and tiles, and the unpacking of 1- to 16-bit samples.
#include "image/tiff_page.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "sightline/error.hpp"

namespace sightline::image {
namespace {

constexpr std::uint16_t kMaxSamples = 16;  // own limit; Pillow reads up to 6

std::int64_t bytes_of_bits(std::int64_t bits) { return (bits + 7) / 8; }

// Samples of a pixel that are colour; 0: not unpacked here.
std::uint16_t colour_samples(std::uint16_t photometric) {
  switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE:
      return 1;
    case PHOTOMETRIC_RGB:
      return 3;
    case PHOTOMETRIC_SEPARATED:
      return 4;
    default:
      return 0;
  }
}

void read_alpha(const TiffFile& file, TiffPage& page) {
  constexpr std::uint16_t kCorelAlpha = 999;  // what Corel Draw 10 writes, read by Pillow too
  if (page.photometric == PHOTOMETRIC_SEPARATED || page.samples <= page.colours) return;
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(file.handle(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
  if (count == 0 || kinds == nullptr) {
    page.has_alpha = page.photometric == PHOTOMETRIC_RGB && page.samples == 4;
    return;
  }
  page.premultiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  page.has_alpha =
      page.premultiplied || kinds[0] == EXTRASAMPLE_UNASSALPHA || kinds[0] == kCorelAlpha;
}

const char* format_kind(std::uint16_t format) {
  switch (format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
      return "unsigned";
    case SAMPLEFORMAT_INT:
      return "signed";
    case SAMPLEFORMAT_IEEEFP:
      return "floating-point";
    default:
      return "complex";
  }
}

void check_samples(const TiffFile& file, const TiffPage& page) {
  const auto format = file.tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT);
  if (page.bits < 1 || page.bits > 16 ||
      (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)) {
    fail_unsupported(file.source(),
                     fmt::format("{}-bit {} samples", page.bits, format_kind(format)));
  }
  if (page.samples > kMaxSamples) {
    fail_unsupported(file.source(), fmt::format("{} samples per pixel", page.samples));
  }
  if (page.samples < page.colours) {
    fail_corrupt(file.source(),
                 fmt::format("{} samples per pixel, expected {}", page.samples, page.colours));
  }
  if (page.photometric == PHOTOMETRIC_PALETTE && page.bits > 8) {
    fail_unsupported(file.source(), fmt::format("a palette of {} bits", page.bits));
  }
  const std::int64_t tile_bits = page.tile_width * page.bits * (page.planar ? 1 : page.samples);
  if (tile_bits % 8 != 0) {
    fail_unsupported(file.source(), fmt::format("tiles of {} pixels a row", page.tile_width));
  }
}

// JPEG data in YCbCr are converted by the JPEG decoder, so that they look like RGB from here on.
void prepare_jpeg(const TiffFile& file, TiffPage& page) {
  if (file.tag<std::uint16_t>(TIFFTAG_COMPRESSION) != COMPRESSION_JPEG) return;
  if (page.photometric == PHOTOMETRIC_YCBCR && !page.planar && page.samples == 3) {
    TIFFSetField(file.handle(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    page.photometric = PHOTOMETRIC_RGB;
  }
}

void read_blocks(const TiffFile& file, TiffPage& page, std::int64_t max_pixels) {
  page.tiled = TIFFIsTiled(file.handle()) != 0;
  if (!page.tiled) {
    const auto rows = file.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP);
    if (rows == 0) fail_corrupt(file.source(), "strips of 0 rows");
    page.band_rows = std::min<std::int64_t>(rows, page.height);
    return;
  }
  page.tile_width = file.tag<std::uint32_t>(TIFFTAG_TILEWIDTH);
  page.band_rows = file.tag<std::uint32_t>(TIFFTAG_TILELENGTH);
  if (page.tile_width <= 0 || page.band_rows <= 0)
    fail_corrupt(file.source(), "tiles without a size");
  const std::int64_t across = (page.width + page.tile_width - 1) / page.tile_width;
  if (across * page.tile_width > max_pixels / page.band_rows) {
    throw Error(
        Code::image_too_large,
        fmt::format("{}: TIFF with tiles of {}x{} pixels, expected rows of tiles of at most "
                    "{} pixels; store it with smaller tiles or raise --max-image-pixels",
                    file.source().name, page.tile_width, page.band_rows, max_pixels),
        {{"file", file.source().name}, {"format", "TIFF"}});
  }
}

}  // namespace

TiffPage read_page_form(const TiffFile& file, std::int64_t max_pixels) {
  TiffPage page;
  page.width = file.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH);
  page.height = file.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH);
  page.bits = file.tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE);
  page.samples = file.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
  page.planar =
      file.tag<std::uint16_t>(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE && page.samples > 1;
  if (TIFFGetField(file.handle(), TIFFTAG_PHOTOMETRIC, &page.photometric) == 0) {
    page.photometric = page.samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  }
  prepare_jpeg(file, page);
  read_blocks(file, page, max_pixels);
  page.colours = colour_samples(page.photometric);
  if (page.colours == 0) {
    page.through_library = true;
    return page;
  }
  check_samples(file, page);
  read_alpha(file, page);
  return page;
}

TiffBands::TiffBands(const TiffFile& file, const TiffPage& page) : file_(file), page_(page) {
  const std::int64_t per_pixel = page.bits * (page.planar ? 1 : page.samples);
  const std::int64_t across = page.tiled ? (page.width + page.tile_width - 1) / page.tile_width : 1;
  row_bytes_ = page.tiled ? across * bytes_of_bits(page.tile_width * per_pixel)
                          : bytes_of_bits(page.width * per_pixel);
  const std::int64_t planes = page.planar ? page.samples : 1;
  // Uninitialised: strips that turn out to be missing have touched no memory.
  bytes_.reset(new std::uint8_t[static_cast<std::size_t>(planes * page.band_rows * row_bytes_)]);
  if (page.tiled) {
    tile_.reset(new std::uint8_t[static_cast<std::size_t>(page.band_rows * (row_bytes_ / across))]);
  }
}

void TiffBands::load(std::int64_t top) {
  for (std::uint16_t plane = 0; plane < (page_.planar ? page_.samples : 1); ++plane) {
    if (page_.tiled) {
      load_tiles(top, plane);
    } else {
      load_strip(top, plane);
    }
  }
}

void TiffBands::load_strip(std::int64_t top, std::uint16_t plane) {
  const std::int64_t rows = std::min(page_.band_rows, page_.height - top);
  const tmsize_t size = static_cast<tmsize_t>(rows * row_bytes_);
  file_.require(TIFFVStripSize64(file_.handle(), static_cast<std::uint32_t>(rows)) ==
                static_cast<std::uint64_t>(size));
  const std::uint32_t strip =
      TIFFComputeStrip(file_.handle(), static_cast<std::uint32_t>(top), plane);
  file_.require(TIFFReadEncodedStrip(file_.handle(), strip, row_of(plane, 0), size) == size);
}

void TiffBands::load_tiles(std::int64_t top, std::uint16_t plane) {
  const std::int64_t across = (page_.width + page_.tile_width - 1) / page_.tile_width;
  const std::int64_t tile_row = row_bytes_ / across;
  const tmsize_t size = static_cast<tmsize_t>(tile_row * page_.band_rows);
  file_.require(TIFFTileSize64(file_.handle()) == static_cast<std::uint64_t>(size));
  for (std::int64_t i = 0; i < across; ++i) {
    const std::uint32_t tile =
        TIFFComputeTile(file_.handle(), static_cast<std::uint32_t>(i * page_.tile_width),
                        static_cast<std::uint32_t>(top), 0, plane);
    file_.require(TIFFReadEncodedTile(file_.handle(), tile, tile_.get(), size) == size);
    for (std::int64_t y = 0; y < page_.band_rows; ++y) {
      std::memcpy(row_of(plane, y) + i * tile_row, tile_.get() + y * tile_row,
                  static_cast<std::size_t>(tile_row));
    }
  }
}

TiffUnpacker::TiffUnpacker(const TiffFile& file, const TiffPage& page) : page_(page) {
  const bool grey = page.colours == 1 && page.photometric != PHOTOMETRIC_PALETTE;
  layout_ = grey ? (page.has_alpha ? Layout::grey_alpha : Layout::grey)
                 : (page.has_alpha ? Layout::rgba : Layout::rgb);
  if (page.photometric == PHOTOMETRIC_PALETTE) read_palette(file);
}

void TiffUnpacker::read_palette(const TiffFile& file) {
  std::array<const std::uint16_t*, 3> channels{};
  file.require(
      TIFFGetField(file.handle(), TIFFTAG_COLORMAP, &channels[0], &channels[1], &channels[2]) != 0);
  const std::size_t entries = std::size_t{1} << page_.bits;
  palette_.resize(entries * 3);
  for (std::size_t i = 0; i < entries; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      palette_[i * 3 + c] = static_cast<std::uint8_t>(channels[c][i] >> 8);
  }
}

// Colour and alpha of 16 bits keep their high byte, as in Pillow; grey of any depth is scaled with
// rounding (specification section 2.1), which for 2 and 4 bits is exact.
std::uint8_t TiffUnpacker::narrow(std::uint32_t value) const {
  if (page_.bits == 8) return static_cast<std::uint8_t>(value);
  if (page_.bits == 16 && (page_.colours > 1 || page_.has_alpha))
    return static_cast<std::uint8_t>(value >> 8);
  const std::uint32_t max = (1U << page_.bits) - 1;
  return static_cast<std::uint8_t>((value * 255 + max / 2) / max);
}

namespace {

// Sample `index` of a packed row: bytes, words in the machine's order, or bits from the highest
// down.
std::uint32_t packed_sample(const std::uint8_t* row, std::int64_t index, std::uint16_t bits) {
  if (bits == 8) return row[index];
  if (bits == 16) {
    std::uint16_t word = 0;
    std::memcpy(&word, row + index * 2, sizeof word);
    return word;
  }
  std::uint32_t value = 0;
  for (std::int64_t bit = index * bits; bit < (index + 1) * bits; ++bit) {
    value = value << 1 | (row[bit / 8] >> (7 - bit % 8) & 1U);
  }
  return value;
}

// Colours that have been multiplied by alpha, divided by it again, rounded down as in Pillow.
void divide_by_alpha(std::uint8_t* pixel, int channels) {
  const std::uint32_t alpha = pixel[channels - 1];
  for (int c = 0; c < channels - 1; ++c) {
    pixel[c] = static_cast<std::uint8_t>(
        alpha == 0 ? 0 : std::min<std::uint32_t>(pixel[c] * 255U / alpha, 255));
  }
}

}  // namespace

void TiffUnpacker::unpack(const TiffBands& bands, std::int64_t y, std::uint8_t* out) const {
  const int channels = static_cast<int>(layout_);
  const bool as_stored =
      page_.bits == 8 && !page_.planar && page_.samples == channels &&
      (page_.photometric == PHOTOMETRIC_RGB || page_.photometric == PHOTOMETRIC_MINISBLACK);
  if (as_stored && !page_.premultiplied) {
    std::memcpy(out, bands.row(0, y), static_cast<std::size_t>(page_.width * channels));
    return;
  }
  const auto sample = [&](std::int64_t x, std::int64_t s) {
    return page_.planar ? packed_sample(bands.row(s, y), x, page_.bits)
                        : packed_sample(bands.row(0, y), x * page_.samples + s, page_.bits);
  };
  for (std::int64_t x = 0; x < page_.width; ++x, out += channels) {
    switch (page_.photometric) {
      case PHOTOMETRIC_PALETTE:
        std::memcpy(out, &palette_[sample(x, 0) * 3], 3);
        break;
      case PHOTOMETRIC_MINISWHITE:
        out[0] = static_cast<std::uint8_t>(255 - narrow(sample(x, 0)));
        break;
      case PHOTOMETRIC_SEPARATED: {
        const std::uint32_t black = 255U - narrow(sample(x, 3));
        for (int c = 0; c < 3; ++c) out[c] = multiply_255(255U - narrow(sample(x, c)), black);
        break;
      }
      default:
        for (int c = 0; c < page_.colours; ++c) out[c] = narrow(sample(x, c));
    }
    if (page_.has_alpha) out[channels - 1] = narrow(sample(x, page_.colours));
    if (page_.premultiplied) divide_by_alpha(out, channels);
  }
}

}  // namespace sightline::image
