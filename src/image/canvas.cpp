// Rows into an RGB picture: size limits, alpha rule, errors that name the file.
#include <algorithm>

#include <fmt/format.h>

#include "image/alpha.hpp"
#include "image/codec.hpp"
#include "image/orient.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

constexpr std::size_t kMaxWarnings = 8;

}  // namespace

void fail_corrupt(const Source& source, const std::string& detail) {
  const char* format = format_name(source.format);
  throw Error(Code::invalid_image,
              fmt::format("{}: expected a complete {} file, found a damaged one: {}; export or "
                          "download it again",
                          source.name, format, detail),
              {{"file", source.name}, {"format", format}, {"detail", detail}});
}

void fail_unsupported(const Source& source, const std::string& feature) {
  const char* format = format_name(source.format);
  throw Error(Code::unsupported_image_format,
              fmt::format("{}: {} with {} is not supported; convert the file, for example to PNG",
                          source.name, format, feature),
              {{"file", source.name}, {"format", format}, {"detail", feature}});
}

Canvas::Canvas(const Source& source, const DecodeOptions& options)
    : source_(source), options_(options) {
  report_.format = source.format;
}

void Canvas::poll() const {
  if (cancelled())
    throw Error(Code::cancelled, fmt::format("{}: decoding was cancelled", source_.name));
}

void Canvas::start(std::int64_t width, std::int64_t height) {
  if (width <= 0 || height <= 0) {
    fail_corrupt(source_, fmt::format("the declared size is {}x{}", width, height));
  }
  if (width > options_.max_pixels / height) {
    throw Error(
        Code::image_too_large,
        fmt::format("{}: {} of {}x{} pixels, expected at most {} pixels; scale it down or "
                    "raise --max-image-pixels",
                    source_.name, format_name(source_.format), width, height, options_.max_pixels),
        {{"file", source_.name},
         {"format", format_name(source_.format)},
         {"width", std::to_string(width)},
         {"height", std::to_string(height)},
         {"max_pixels", std::to_string(options_.max_pixels)}});
  }
  image_.width = width;
  image_.height = height;
  image_.rgb.reserve(static_cast<std::size_t>(width * height * 3));
}

void Canvas::add_row(const std::uint8_t* pixels, Layout layout) {
  poll();
  const auto width = static_cast<std::size_t>(image_.width);
  const std::size_t start = image_.rgb.size();
  image_.rgb.resize(start + width * 3);
  std::uint8_t* out = image_.rgb.data() + start;
  switch (layout) {
    case Layout::rgb:
      std::copy_n(pixels, width * 3, out);
      return;
    case Layout::grey:
      for (std::size_t x = 0; x < width; ++x, out += 3) out[0] = out[1] = out[2] = pixels[x];
      return;
    case Layout::grey_alpha:
    case Layout::rgba:
      break;
  }
  report_.had_alpha = true;
  const int channels = static_cast<int>(layout);
  if (options_.alpha == Alpha::white) return blend_row(pixels, channels, out);
  drop_row(pixels, channels, out);
}

void Canvas::blend_row(const std::uint8_t* pixels, int channels, std::uint8_t* out) {
  const int step = channels == 4 ? 1 : 0;  // grey repeats its one sample
  for (std::int64_t x = 0; x < image_.width; ++x, pixels += channels, out += 3) {
    const std::uint8_t alpha = pixels[channels - 1];
    for (int c = 0; c < 3; ++c) out[c] = onto_white(pixels[c * step], alpha);
  }
}

void Canvas::drop_row(const std::uint8_t* pixels, int channels, std::uint8_t* out) {
  const int step = channels == 4 ? 1 : 0;
  for (std::int64_t x = 0; x < image_.width; ++x, pixels += channels, out += 3) {
    for (int c = 0; c < 3; ++c) out[c] = pixels[c * step];
    if (pixels[channels - 1] != 0) continue;
    if (!seen_hidden_) std::copy_n(out, 3, hidden_.begin());
    seen_hidden_ = true;
    hidden_differ_ = hidden_differ_ || !std::equal(hidden_.begin(), hidden_.end(), out);
  }
}

void Canvas::warn(const std::string& message) {
  auto& warnings = report_.warnings;
  if (warnings.size() < kMaxWarnings && std::ranges::find(warnings, message) == warnings.end()) {
    warnings.push_back(message);
  }
}

Decoded Canvas::finish() {
  if (hidden_differ_) {
    warn(
        "alpha was dropped and fully transparent pixels hide different colours, which the model "
        "will see; --alpha white composites onto white");
  }
  return {oriented(std::move(image_), report_.orientation), std::move(report_)};
}

}  // namespace sightline::image
