// An open TIFF file in memory, with libtiff's messages caught and its allocations bounded. Private
// to the TIFF reader.
#pragma once

#include <string>

#include <tiffio.h>

#include "image/codec.hpp"

namespace sightline::image {

/// Owns a TIFF handle over source.bytes, at the first page. Not thread-safe; different files are
/// independent.
class TiffFile {
 public:
  /// Throws Error(invalid_image) when libtiff cannot open the file.
  explicit TiffFile(const Source& source);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  [[nodiscard]] TIFF* handle() const noexcept { return tiff_; }
  [[nodiscard]] const Source& source() const noexcept { return source_; }
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

  /// A tag of the page, with the default of the TIFF specification.
  template <class Value>
  [[nodiscard]] Value tag(std::uint32_t name) const {
    Value value{};
    TIFFGetFieldDefaulted(tiff_, name, &value);
    return value;
  }

  /// Throws Error(invalid_image) with the last message of libtiff if `good` is false, or if the
  /// JPEG decoder inside libtiff has complained (libtiff itself goes on with grey pixels).
  void require(bool good) const;

 private:
  static tmsize_t on_read(thandle_t file, void* out, tmsize_t size);
  static toff_t on_seek(thandle_t file, toff_t offset, int whence);
  static toff_t on_size(thandle_t file);
  static int on_map(thandle_t file, void** base, toff_t* size);
  static int on_error(TIFF*, void* file, const char* module, const char* format, va_list arguments);
  static int on_warning(TIFF*, void* file, const char* module, const char* format,
                        va_list arguments);

  const Source& source_;
  TIFF* tiff_ = nullptr;
  toff_t position_ = 0;
  std::string error_, warning_;
  bool jpeg_damaged_ = false;
};

}  // namespace sightline::image
