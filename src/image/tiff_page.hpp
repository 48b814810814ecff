// How the samples of a TIFF page are stored, and how to get at them: form, packed rows, pixels.
// Private to tiff.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "image/tiff_file.hpp"

namespace sightline::image {

/// The form of one page, checked: everything here is within what TiffUnpacker reads.
struct TiffPage {
  std::int64_t width = 0, height = 0;
  std::uint16_t bits = 1;         ///< per sample, 1..16
  std::uint16_t samples = 1;      ///< per pixel
  std::uint16_t photometric = 0;  ///< PHOTOMETRIC_*
  std::uint16_t colours = 1;      ///< samples that are colour: 1, 3 or 4; the next one may be alpha
  bool planar = false;            ///< one plane for each sample
  bool tiled = false;
  bool has_alpha = false, premultiplied = false;
  bool through_library = false;  ///< to be read by libtiff's RGBA reader
  std::int64_t tile_width = 0;
  std::int64_t band_rows = 0;  ///< rows of a strip or tile
};

/// Reads the tags of the current page. Throws Error(unsupported_image_format, invalid_image,
/// image_too_large).
TiffPage read_page_form(const TiffFile& file, std::int64_t max_pixels);

/// One strip or one row of tiles, decompressed: packed rows for each plane.
class TiffBands {
 public:
  TiffBands(const TiffFile& file, const TiffPage& page);

  /// Decompresses the band that begins at row `top` (a multiple of band_rows).
  void load(std::int64_t top);
  /// Packed samples of row `y` within the band.
  [[nodiscard]] const std::uint8_t* row(std::int64_t plane, std::int64_t y) const {
    return row_of(plane, y);
  }

 private:
  [[nodiscard]] std::uint8_t* row_of(std::int64_t plane, std::int64_t y) const {
    return bytes_.get() + static_cast<std::size_t>((plane * page_.band_rows + y) * row_bytes_);
  }
  void load_strip(std::int64_t top, std::uint16_t plane);
  void load_tiles(std::int64_t top, std::uint16_t plane);

  const TiffFile& file_;
  const TiffPage& page_;
  std::int64_t row_bytes_ = 0;
  std::unique_ptr<std::uint8_t[]> bytes_, tile_;
};

/// Packed samples to pixel rows of 8 bits.
class TiffUnpacker {
 public:
  TiffUnpacker(const TiffFile& file, const TiffPage& page);

  [[nodiscard]] Layout layout() const { return layout_; }
  /// Row `y` of the band as width pixels of layout().
  void unpack(const TiffBands& bands, std::int64_t y, std::uint8_t* out) const;

 private:
  void read_palette(const TiffFile& file);
  [[nodiscard]] std::uint8_t narrow(std::uint32_t value) const;

  const TiffPage& page_;
  Layout layout_ = Layout::grey;
  std::vector<std::uint8_t> palette_;  // RGB triples
};

}  // namespace sightline::image
