// Dispatch from content to codec, and the errors that no codec sees.
#include "image/decode.hpp"

#include <new>

#include <fmt/format.h>

#include "image/codec.hpp"
#include "image/sniff.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

constexpr const char* kAccepted = "PNG, JPEG, WebP, GIF, TIFF or BMP";

[[noreturn]] void fail_foreign(std::string_view bytes, const std::string& name) {
  const char* found = foreign_format(bytes);
  throw Error(Code::unsupported_image_format,
              fmt::format("{}: expected a picture in one of the formats {}, found {}; convert it, "
                          "for example to PNG",
                          name, kAccepted, found ? found : "content of no known picture format"),
              {{"file", name}, {"found", found ? found : "unknown"}, {"accepted", kAccepted}});
}

void run_codec(const Source& source, Canvas& canvas) {
  switch (source.format) {
    case Format::png:
      return decode_png(source, canvas);
    case Format::jpeg:
      return decode_jpeg(source, canvas);
    case Format::webp:
      return decode_webp(source, canvas);
    case Format::gif:
      return decode_gif(source, canvas);
    case Format::tiff:
      return decode_tiff(source, canvas);
    case Format::bmp:
      return decode_bmp(source, canvas);
  }
}

}  // namespace

const char* format_name(Format format) noexcept {
  switch (format) {
    case Format::png:
      return "PNG";
    case Format::jpeg:
      return "JPEG";
    case Format::webp:
      return "WebP";
    case Format::gif:
      return "GIF";
    case Format::tiff:
      return "TIFF";
    case Format::bmp:
      return "BMP";
  }
  return "unknown";
}

Decoded decode(std::string_view bytes, const std::string& name, const DecodeOptions& options) {
  if (bytes.empty()) {
    throw Error(Code::invalid_image, fmt::format("{}: expected a picture, found 0 bytes", name),
                {{"file", name}, {"detail", "empty"}});
  }
  const auto format = sniff(bytes);
  if (!format) fail_foreign(bytes, name);
  const Source source{bytes, name, *format};
  try {
    Canvas canvas(source, options);
    run_codec(source, canvas);
    return canvas.finish();
  } catch (const std::bad_alloc&) {
    throw Error(Code::memory_limit,
                fmt::format("{}: not enough memory to decode this {} file; scale it down", name,
                            format_name(*format)),
                {{"file", name}});
  }
}

Decoded decode_file(const std::string& path, const DecodeOptions& options) {
  return decode(io::read_file(path), path, options);
}

}  // namespace sightline::image
