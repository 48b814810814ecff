// JPEG through libjpeg-turbo: accurate integer IDCT and fancy upsampling (the library's defaults,
// as the reference decodes), grey, RGB, YCbCr, CMYK and YCCK with Adobe's inversion. Every library
// call runs inside attempt(), whose frame and whose steps own nothing: libjpeg reports errors by
// longjmp, which runs no destructors.
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs FILE
#include <optional>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "image/codec.hpp"
#include "image/exif.hpp"

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

// More scans than any encoder writes: bounds the work that a small progressive file can ask for.
// Own limit.
constexpr int kMaxScans = 100;
constexpr unsigned kMaxMarkerBytes = 0xFFFF;

// Warnings that leave the picture whole. Every other one means that data is missing or damaged.
bool is_harmless(int message_code) {
  return message_code == JWRN_EXTRANEOUS_DATA || message_code == JWRN_ADOBE_XFORM ||
         message_code == JWRN_JFIF_MAJOR || message_code == JWRN_BOGUS_ICC;
}

bool is_unsupported(int message_code) {
  return message_code == JERR_BAD_PRECISION || message_code == JERR_SOF_UNSUPPORTED ||
         message_code == JERR_ARITH_NOTIMPL || message_code == JERR_CONVERSION_NOTIMPL ||
         message_code == JERR_COMPONENT_COUNT;
}

struct ErrorState {
  jpeg_error_mgr manager;  // first member: libjpeg hands back a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  char warning[JMSG_LENGTH_MAX];
  bool too_many_scans;
  const Canvas* canvas;  // what may be cancelled
  bool cancelled;
};

ErrorState& state_of(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

void on_error(j_common_ptr info) {
  ErrorState& state = state_of(info);
  state.manager.format_message(info, state.message);
  std::longjmp(state.jump, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // trace output
  ErrorState& state = state_of(info);
  if (!is_harmless(state.manager.msg_code)) on_error(info);
  state.manager.format_message(info, state.warning);
}

void ignore_output(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  ErrorState& state = state_of(info);
  state.cancelled = state.canvas->cancelled();
  state.too_many_scans = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans;
  if (!state.cancelled && !state.too_many_scans) return;
  std::longjmp(state.jump, 1);
}

class JpegReader {
 public:
  JpegReader(const Source& source, const Canvas& canvas) : source_(source) {
    errors_.canvas = &canvas;
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_error;
    errors_.manager.emit_message = on_message;
    errors_.manager.output_message = ignore_output;
    progress_.progress_monitor = on_progress;
    run([this] { jpeg_create_decompress(&info_); });
    info_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct& info() { return info_; }
  [[nodiscard]] const char* warning() const { return errors_.warning; }

  /// Runs library calls; throws what libjpeg reports. `step` must not own anything while it calls
  /// the library.
  template <class Step>
  void run(Step step) {
    if (attempt(step)) return;
    if (errors_.cancelled) errors_.canvas->poll();
    if (errors_.too_many_scans) {
      fail_unsupported(source_, "more than " + std::to_string(kMaxScans) + " scans");
    }
    if (is_unsupported(errors_.manager.msg_code)) fail_unsupported(source_, errors_.message);
    fail_corrupt(source_, errors_.message);
  }

 private:
  template <class Step>
  bool attempt(Step& step) {
    if (setjmp(errors_.jump)) return false;
    step();
    return true;
  }

  const Source& source_;
  jpeg_decompress_struct info_{};
  ErrorState errors_{};
  jpeg_progress_mgr progress_{};
};

std::string_view marker_bytes(const jpeg_marker_struct& marker) {
  return {reinterpret_cast<const char*>(marker.data), marker.data_length};
}

int stored_orientation(const jpeg_decompress_struct& info) {
  constexpr auto kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  int from_xmp = 0;
  for (const jpeg_marker_struct* m = info.marker_list; m != nullptr; m = m->next) {
    const std::string_view bytes = marker_bytes(*m);
    if (bytes.starts_with("Exif\0\0"sv)) {
      if (const int orientation = exif_orientation(bytes)) return orientation;
    } else if (bytes.starts_with(kXmp) && from_xmp == 0) {
      from_xmp = xmp_orientation(bytes);
    }
  }
  return from_xmp == 0 ? 1 : from_xmp;
}

// The output colour space and the row layout that fit what is stored.
Layout choose_output(JpegReader& reader, const Source& source) {
  jpeg_decompress_struct& info = reader.info();
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  switch (info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      info.out_color_space = JCS_GRAYSCALE;
      return Layout::grey;
    case JCS_RGB:
    case JCS_YCbCr:
      info.out_color_space = JCS_RGB;
      return Layout::rgb;
    case JCS_CMYK:
    case JCS_YCCK:
      info.out_color_space = JCS_CMYK;
      return Layout::rgba;
    default:
      fail_unsupported(source, std::to_string(info.num_components) + " colour components");
  }
}

// CMYK as Adobe stores it, inverted: 255 is no ink. In place, 4 bytes a pixel to 3.
void cmyk_to_rgb(std::uint8_t* row, std::int64_t width) {
  const std::uint8_t* in = row;
  for (std::int64_t x = 0; x < width; ++x, in += 4, row += 3) {
    const std::uint8_t black = in[3];
    for (int c = 0; c < 3; ++c) row[c] = multiply_255(in[c], black);
  }
}

}  // namespace

void decode_jpeg(const Source& source, Canvas& canvas) {
  JpegReader reader(source, canvas);
  jpeg_decompress_struct& info = reader.info();
  reader.run([&] {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(source.bytes.data()),
                 static_cast<unsigned long>(source.bytes.size()));
    jpeg_save_markers(&info, JPEG_APP0 + 1, kMaxMarkerBytes);
    jpeg_read_header(&info, TRUE);
  });
  canvas.start(info.image_width, info.image_height);
  canvas.report().orientation = stored_orientation(info);
  const Layout layout = choose_output(reader, source);
  const bool inks = layout == Layout::rgba;
  reader.run([&] { jpeg_start_decompress(&info); });

  std::vector<std::uint8_t> row(static_cast<std::size_t>(canvas.width() * info.output_components));
  JSAMPROW pointer = row.data();
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    reader.run([&] { jpeg_read_scanlines(&info, &pointer, 1); });
    if (inks) cmyk_to_rgb(row.data(), canvas.width());
    canvas.add_row(row.data(), inks ? Layout::rgb : layout);
  }
  reader.run([&] { jpeg_finish_decompress(&info); });
  if (reader.warning()[0] != '\0') canvas.warn(reader.warning());
}

}  // namespace sightline::image
