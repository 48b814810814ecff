// Colours through swscale (ffmpeg_frame.hpp).
#ifdef SIGHTLINE_WITH_FFMPEG

#include "video/ffmpeg_frame.hpp"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "image/alpha.hpp"

namespace sightline::video {
namespace {

bool may_be_transparent(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return (taken(format)->flags & AV_PIX_FMT_FLAG_ALPHA) != 0 || frame.format == AV_PIX_FMT_PAL8;
}

}  // namespace

int orientation_of(const std::int32_t* matrix) noexcept {
  const double a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
  if (std::abs(a) + std::abs(d) >= std::abs(b) + std::abs(c)) {
    if (a >= 0) return d >= 0 ? 1 : 4;
    return d >= 0 ? 2 : 3;
  }
  if (b >= 0) return c >= 0 ? 5 : 6;
  return c >= 0 ? 8 : 7;
}

void FrameConverter::Delete::operator()(SwsContext* scaler) const { sws_freeContext(scaler); }

image::Image FrameConverter::operator()(const AVFrame& frame) {
  const bool alpha = may_be_transparent(frame);
  prepare(frame, alpha);
  const std::int64_t width = frame.width, height = frame.height, channels = alpha ? 4 : 3;
  constexpr std::int64_t kRowPadding = 64;  // swscale may write a little beyond a row
  const std::int64_t stride = (width * channels + 2 * kRowPadding) / kRowPadding * kRowPadding;
  buffer_.resize(static_cast<std::size_t>(stride * height + kRowPadding));
  std::uint8_t* planes[4] = {buffer_.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(stride), 0, 0, 0};
  sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, planes, strides);
  image::Image image{width, height, {}};
  image.rgb.resize(static_cast<std::size_t>(width * height * 3));
  for (std::int64_t y = 0; y < height; ++y)
    copy_row(buffer_.data() + y * stride, width, alpha, image.rgb.data() + y * width * 3);
  return image;
}

void FrameConverter::prepare(const AVFrame& frame, bool alpha) {
  constexpr int kFlags =
      SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT;
  constexpr int kOne = 1 << 16;  // neutral contrast and saturation
  const auto format = static_cast<AVPixelFormat>(frame.format);
  scaler_.reset(sws_getCachedContext(
      scaler_.release(), frame.width, frame.height, format, frame.width, frame.height,
      alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24, kFlags, nullptr, nullptr, nullptr));
  taken(scaler_.get());
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  if ((description->flags & AV_PIX_FMT_FLAG_RGB) != 0 || format == AV_PIX_FMT_PAL8) return;
  const bool full = frame.color_range == AVCOL_RANGE_JPEG ||
                    std::string_view(description->name).starts_with("yuvj");
  const int* coefficients = sws_getCoefficients(frame.colorspace);
  sws_setColorspaceDetails(scaler_.get(), coefficients, full ? 1 : 0, coefficients, 1, 0, kOne,
                           kOne);
}

void FrameConverter::copy_row(const std::uint8_t* in, std::int64_t width, bool alpha,
                              std::uint8_t* out) const {
  if (!alpha) {
    std::copy_n(in, width * 3, out);
    return;
  }
  constexpr std::size_t kChannels = 4;
  for (std::int64_t x = 0; x < width; ++x, in += kChannels, out += 3) {
    for (std::size_t c = 0; c < 3; ++c)
      out[c] = alpha_ == image::Alpha::white ? image::onto_white(in[c], in[3]) : in[c];
  }
}

}  // namespace sightline::video

#endif
