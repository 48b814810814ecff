// The client functions that libtiff reads through, and its error handlers (per file: no global
// handler is touched).
#include "image/tiff_file.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

namespace sightline::image {
namespace {

// Largest single allocation inside libtiff (directories, strip tables, compressed data). Own limit.
constexpr tmsize_t kMaxLibraryAllocation = tmsize_t{256} << 20;

struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

std::string message_text(const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

TiffFile& self(void* file) { return *static_cast<TiffFile*>(file); }

tmsize_t refuse_write(thandle_t, void*, tmsize_t) { return 0; }
int close_nothing(thandle_t) { return 0; }
void unmap_nothing(thandle_t, void*, toff_t) {}

}  // namespace

TiffFile::TiffFile(const Source& source) : source_(source) {
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxLibraryAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
  tiff_ = TIFFClientOpenExt(source.name.c_str(), "r", this, on_read, refuse_write, on_seek,
                            close_nothing, on_size, on_map, unmap_nothing, options.get());
  require(tiff_ != nullptr);
}

TiffFile::~TiffFile() {
  if (tiff_ != nullptr) TIFFClose(tiff_);
}

void TiffFile::require(bool good) const {
  if (good && !jpeg_damaged_) return;
  fail_corrupt(source_, error_.empty() ? "libtiff gives no reason" : error_);
}

tmsize_t TiffFile::on_read(thandle_t file, void* out, tmsize_t size) {
  TiffFile& tiff = self(file);
  const std::string_view bytes = tiff.source_.bytes;
  if (size < 0 || tiff.position_ > bytes.size()) return 0;
  const auto count =
      std::min<std::size_t>(static_cast<std::size_t>(size), bytes.size() - tiff.position_);
  std::memcpy(out, bytes.data() + tiff.position_, count);
  tiff.position_ += count;
  return static_cast<tmsize_t>(count);
}

toff_t TiffFile::on_seek(thandle_t file, toff_t offset, int whence) {
  TiffFile& tiff = self(file);
  if (whence == SEEK_CUR) offset += tiff.position_;
  if (whence == SEEK_END) offset += tiff.source_.bytes.size();
  return tiff.position_ = offset;
}

toff_t TiffFile::on_size(thandle_t file) { return self(file).source_.bytes.size(); }

int TiffFile::on_map(thandle_t file, void** base, toff_t* size) {
  const std::string_view bytes = self(file).source_.bytes;
  *base = const_cast<char*>(bytes.data());  // opened for reading: libtiff only reads through it
  *size = bytes.size();
  return 1;
}

int TiffFile::on_error(TIFF*, void* file, const char*, const char* format, va_list arguments) {
  self(file).error_ = message_text(format, arguments);
  return 1;
}

int TiffFile::on_warning(TIFF*, void* file, const char* module, const char* format,
                         va_list arguments) {
  TiffFile& tiff = self(file);
  tiff.warning_ = message_text(format, arguments);
  if (module != nullptr && std::strcmp(module, "JPEGLib") == 0) {
    tiff.jpeg_damaged_ = true;
    tiff.error_ = tiff.warning_;
  }
  return 1;
}

}  // namespace sightline::image
