// WebP through libwebp and libwebpdemux: still pictures and the first frame of animations, placed
// on its canvas.
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include "image/codec.hpp"
#include "image/exif.hpp"

namespace sightline::image {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

struct Frame : WebPIterator {
  Frame() : WebPIterator{} {}
  ~Frame() { WebPDemuxReleaseIterator(this); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
};

const char* status_text(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OK:
      return "ok";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_INVALID_PARAM:
      return "invalid parameter";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "bitstream error";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "unsupported feature";
    case VP8_STATUS_SUSPENDED:
      return "suspended";
    case VP8_STATUS_USER_ABORT:
      return "aborted";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "unexpected end of data";
  }
  return "unknown status";
}

// The pixels of the first frame on the canvas, `channels` bytes each. What the frame does not cover
// stays 0, as does memory of a frame that turns out to be damaged: the buffer starts uninitialised
// where the frame covers it all.
std::unique_ptr<std::uint8_t[]> decode_frame(const Source& source, const Canvas& canvas,
                                             const Frame& frame, int channels) {
  const bool covers = frame.width == canvas.width() && frame.height == canvas.height();
  const auto stride = static_cast<std::size_t>(canvas.width()) * static_cast<std::size_t>(channels);
  const std::size_t size = stride * static_cast<std::size_t>(canvas.height());
  std::unique_ptr<std::uint8_t[]> pixels(covers ? new std::uint8_t[size]
                                                : new std::uint8_t[size]());
  const std::size_t offset = static_cast<std::size_t>(frame.y_offset) * stride +
                             static_cast<std::size_t>(frame.x_offset * channels);
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) fail_corrupt(source, "libwebp has an unexpected version");
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {pixels.get() + offset, static_cast<int>(stride), size - offset};
  const VP8StatusCode status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) fail_corrupt(source, status_text(status));
  return pixels;
}

std::string_view first_chunk(const WebPDemuxer* demuxer, const char* name) {
  WebPChunkIterator chunk{};
  std::string_view bytes;
  if (WebPDemuxGetChunk(demuxer, name, 1, &chunk) != 0) {
    bytes = {reinterpret_cast<const char*>(chunk.chunk.bytes),
             chunk.chunk.size};  // into the source
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return bytes;
}

int stored_orientation(const WebPDemuxer* demuxer) {
  if (const int orientation = exif_orientation(first_chunk(demuxer, "EXIF"))) return orientation;
  const int orientation = xmp_orientation(first_chunk(demuxer, "XMP "));
  return orientation == 0 ? 1 : orientation;
}

}  // namespace

void decode_webp(const Source& source, Canvas& canvas) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(source.bytes.data());
  WebPBitstreamFeatures features{};
  const VP8StatusCode status = WebPGetFeatures(bytes, source.bytes.size(), &features);
  if (status != VP8_STATUS_OK) fail_corrupt(source, status_text(status));
  canvas.start(features.width, features.height);

  const WebPData data{bytes, source.bytes.size()};
  const Demuxer demuxer(WebPDemux(&data));
  Frame frame;
  if (demuxer == nullptr || WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0 || !frame.complete) {
    fail_corrupt(source, "the container is malformed or ends early");
  }
  if (frame.width + frame.x_offset > canvas.width() ||
      frame.height + frame.y_offset > canvas.height()) {
    fail_corrupt(source, "the first frame does not fit on its canvas");
  }
  const int channels = features.has_alpha != 0 ? 4 : 3;
  const auto pixels = decode_frame(source, canvas, frame, channels);
  canvas.report().orientation = stored_orientation(demuxer.get());
  canvas.report().frames_ignored = WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT) - 1;
  const std::int64_t stride = canvas.width() * channels;
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    canvas.add_row(pixels.get() + y * stride, static_cast<Layout>(channels));
  }
}

}  // namespace sightline::image
