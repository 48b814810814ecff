// PNG through libpng: palette, transparency, 1 to 16 bits, interlace; no gamma and no colour
// profile. 16-bit grey is scaled with rounding, other 16-bit samples keep their high byte
// (specification section 2.1). As in jpeg.cpp, library calls run inside attempt(), whose steps own
// nothing, because libpng reports errors by longjmp.
#include <csetjmp>
#include <cstring>
#include <memory>
#include <vector>

#include <png.h>

#include "image/codec.hpp"
#include "image/png_chunks.hpp"

namespace sightline::image {
namespace {

constexpr std::size_t kMessageBytes = 256;

class PngReader {
 public:
  explicit PngReader(const Source& source) : source_(source) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[nodiscard]] png_structp png() const { return png_; }
  [[nodiscard]] png_infop info() const { return info_; }
  [[nodiscard]] const char* warning() const { return warning_; }

  /// Runs library calls; throws what libpng reports. `step` must not own anything while it calls
  /// the library.
  template <class Step>
  void run(Step step) {
    if (!attempt(step)) fail_corrupt(source_, error_);
  }

 private:
  template <class Step>
  bool attempt(Step& step) {
    if (setjmp(jump_)) return false;
    step();
    return true;
  }

  static PngReader& self(png_structp png) {
    return *static_cast<PngReader*>(png_get_error_ptr(png));
  }
  static void copy_message(char (&to)[kMessageBytes], const char* from) {
    std::strncpy(to, from, kMessageBytes - 1);
  }
  static void on_error(png_structp png, png_const_charp message) {
    copy_message(self(png).error_, message);
    std::longjmp(self(png).jump_, 1);
  }
  static void on_warning(png_structp png, png_const_charp message) {
    copy_message(self(png).warning_, message);
  }
  static void on_read(png_structp png, png_bytep out, std::size_t count) {
    PngReader& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (reader.source_.bytes.size() - reader.position_ < count)
      png_error(png, "unexpected end of file");
    std::memcpy(out, reader.source_.bytes.data() + reader.position_, count);
    reader.position_ += count;
  }

  const Source& source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::size_t position_ = 0;
  std::jmp_buf jump_;
  char error_[kMessageBytes] = {};
  char warning_[kMessageBytes] = {};
};

// How libpng delivers rows after set_transforms().
struct RowForm {
  Layout layout;
  bool wide;  // 16 bits a sample, big-endian: only for grey
  int passes;
};

RowForm set_transforms(PngReader& reader) {
  RowForm form{};
  reader.run([&] {
    png_structp png = reader.png();
    png_infop info = reader.info();
    const int colour = png_get_color_type(png, info);
    const bool deep = png_get_bit_depth(png, info) == 16;
    form.wide = deep && colour == PNG_COLOR_TYPE_GRAY;
    png_set_expand(png);  // palette to RGB, grey to at least 8 bits, tRNS to alpha
    if (deep && !form.wide) png_set_strip_16(png);
    form.passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    form.layout = static_cast<Layout>(png_get_channels(png, info));
  });
  return form;
}

// 16-bit grey (with or without alpha) to 8 bits, in place: round(v * 255 / 65535).
void narrow_row(std::uint8_t* row, std::size_t samples) {
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uint32_t value = static_cast<std::uint32_t>(row[2 * i]) << 8 | row[2 * i + 1];
    row[i] = static_cast<std::uint8_t>((value * 255 + 32767) / 65535);
  }
}

void add_row(Canvas& canvas, std::uint8_t* row, const RowForm& form) {
  if (form.wide) {
    narrow_row(row, static_cast<std::size_t>(canvas.width() * static_cast<int>(form.layout)));
  }
  canvas.add_row(row, form.layout);
}

void read_sequential(PngReader& reader, Canvas& canvas, const RowForm& form,
                     std::size_t row_bytes) {
  std::vector<std::uint8_t> row(row_bytes);
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    reader.run([&] { png_read_row(reader.png(), row.data(), nullptr); });
    add_row(canvas, row.data(), form);
  }
}

// Interlaced rows come piecemeal, so the whole picture is held; uninitialised, so that a file that
// ends early has touched no more memory than it filled.
void read_interlaced(PngReader& reader, Canvas& canvas, const RowForm& form,
                     std::size_t row_bytes) {
  const auto height = static_cast<std::size_t>(canvas.height());
  const std::unique_ptr<std::uint8_t[]> rows(new std::uint8_t[height * row_bytes]);
  reader.run([&] {
    for (int pass = 0; pass < form.passes; ++pass) {
      for (std::size_t y = 0; y < height; ++y) {
        canvas.poll();
        png_read_row(reader.png(), rows.get() + y * row_bytes, nullptr);
      }
    }
  });
  for (std::size_t y = 0; y < height; ++y) add_row(canvas, rows.get() + y * row_bytes, form);
}

}  // namespace

void decode_png(const Source& source, Canvas& canvas) {
  PngReader reader(source);
  reader.run([&] {
    // The size is checked by the canvas, right after the header.
    png_set_user_limits(reader.png(), PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    // Metadata is read by png_chunks.cpp: libpng skips it, and allocates nothing for it.
    png_set_keep_unknown_chunks(reader.png(), PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(reader.png(), reader.info());
  });
  canvas.start(png_get_image_width(reader.png(), reader.info()),
               png_get_image_height(reader.png(), reader.info()));
  const RowForm form = set_transforms(reader);
  const std::size_t row_bytes = png_get_rowbytes(reader.png(), reader.info());
  const auto read = form.passes > 1 ? read_interlaced : read_sequential;
  read(reader, canvas, form, row_bytes);
  reader.run([&] { png_read_end(reader.png(), nullptr); });
  const PngExtras extras = read_png_extras(source.bytes);
  canvas.report().orientation = extras.orientation;
  canvas.report().frames_ignored = extras.frames_ignored;
  if (reader.warning()[0] != '\0') canvas.warn(reader.warning());
}

}  // namespace sightline::image
