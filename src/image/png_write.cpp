// libpng's writer into memory. As in png.cpp, library calls own nothing: errors come by longjmp.
#include "image/png_write.hpp"

#include <csetjmp>
#include <new>
#include <string>

#include <png.h>

#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png_, this, on_write, on_flush);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  bool write(const Image& image) {
    if (setjmp(jump_)) return false;
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                 static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (std::int64_t y = 0; y < image.height; ++y) {
      png_write_row(png_, image.rgb.data() + y * image.width * 3);
    }
    png_write_end(png_, info_);
    return true;
  }
  [[nodiscard]] bool out_of_memory() const { return out_of_memory_; }
  std::string take() { return std::move(bytes_); }

 private:
  static void on_error(png_structp png, png_const_charp) {
    std::longjmp(static_cast<PngWriter*>(png_get_error_ptr(png))->jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_flush(png_structp) {}
  static void on_write(png_structp png, png_bytep bytes, std::size_t size) {
    auto* writer = static_cast<PngWriter*>(png_get_io_ptr(png));
    try {
      writer->bytes_.append(reinterpret_cast<const char*>(bytes), size);
      return;
    } catch (const std::bad_alloc&) {
      writer->out_of_memory_ = true;
    }
    png_error(png, "out of memory");
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  std::string bytes_;
  bool out_of_memory_ = false;
};

}  // namespace

std::string encode_png(const Image& image) {
  PngWriter writer;
  if (writer.write(image)) return writer.take();
  if (writer.out_of_memory())
    throw Error(Code::memory_limit, "PNG: not enough memory to encode a picture");
  throw Error(Code::internal, "PNG: a picture of " + std::to_string(image.width) + "x" +
                                  std::to_string(image.height) + " pixels can not be encoded");
}

void write_png(const Image& image, const std::string& path) {
  io::write_file(path, encode_png(image));
}

}  // namespace sightline::image
