// Animated WebP through WebPAnimDecoder, which composes frames onto the canvas.
#include "image/webp_animation.hpp"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <utility>

#include "image/alpha.hpp"
#include "image/codec.hpp"

namespace sightline::image {
namespace {

constexpr std::size_t kChannels = 4;  // what WebPAnimDecoder writes: RGBA

struct Delete {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

Image picture_of(const std::uint8_t* rgba, std::int64_t width, std::int64_t height, Alpha alpha) {
  Image image{width, height, {}};
  image.rgb.resize(static_cast<std::size_t>(width * height * 3));
  std::uint8_t* out = image.rgb.data();
  for (std::int64_t i = 0; i < width * height; ++i, rgba += kChannels, out += 3) {
    for (std::size_t c = 0; c < 3; ++c)
      out[c] = alpha == Alpha::white ? onto_white(rgba[c], rgba[3]) : rgba[c];
  }
  return image;
}

}  // namespace

struct WebpAnimation::Parts {
  Source source;
  Alpha alpha;
  std::int64_t width = 0, height = 0;
  std::string repaired;  // of a file that is cut off: its whole frames, with a size that fits them
  std::vector<std::int64_t> ends;
  std::unique_ptr<WebPAnimDecoder, Delete> decoder;

  void read_headers(const DecodeOptions& options);
};

void WebpAnimation::Parts::read_headers(const DecodeOptions& options) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(source.bytes.data());
  const WebPData data{bytes, source.bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, Delete> demuxer(WebPDemuxPartial(&data, &state));
  if (demuxer == nullptr || state < WEBP_DEMUX_PARSED_HEADER)
    fail_corrupt(source, "the container is malformed or ends early");
  width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
  height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
  Canvas(source, options).start(width, height);  // the same limits as of a picture
  std::size_t whole = 0;  // bytes up to the end of the last frame that is there
  WebPIterator frame{};
  std::int64_t end = 0;
  for (int more = WebPDemuxGetFrame(demuxer.get(), 1, &frame); more != 0 && frame.complete != 0;
       more = WebPDemuxNextFrame(&frame)) {
    end += std::max(frame.duration, 0);
    ends.push_back(end);
    whole = static_cast<std::size_t>(frame.fragment.bytes - bytes) + frame.fragment.size;
  }
  WebPDemuxReleaseIterator(&frame);
  if (state == WEBP_DEMUX_DONE || ends.empty()) return;
  // The decoder takes whole files only. Chunks have even lengths (RIFF).
  constexpr std::size_t kSizeAt = 4, kHead = 8;
  repaired.assign(source.bytes.substr(0, whole + whole % 2));
  repaired.resize(whole + whole % 2);
  for (std::size_t i = 0; i < 4; ++i)
    repaired[kSizeAt + i] = static_cast<char>((repaired.size() - kHead) >> (8 * i));
}

WebpAnimation::WebpAnimation(std::string_view bytes, std::string name, const DecodeOptions& options)
    : parts_(std::make_unique<Parts>()) {
  parts_->source = {bytes, std::move(name), Format::webp};
  parts_->alpha = options.alpha;
  parts_->read_headers(options);
  rewind();
}

WebpAnimation::~WebpAnimation() = default;

std::int64_t WebpAnimation::width() const noexcept { return parts_->width; }
std::int64_t WebpAnimation::height() const noexcept { return parts_->height; }
bool WebpAnimation::is_cut() const noexcept { return !parts_->repaired.empty(); }
const std::vector<std::int64_t>& WebpAnimation::ends() const noexcept { return parts_->ends; }

std::optional<Image> WebpAnimation::next() {
  if (parts_->decoder == nullptr) return std::nullopt;
  std::uint8_t* pixels = nullptr;
  int end_ms = 0;
  if (WebPAnimDecoderGetNext(parts_->decoder.get(), &pixels, &end_ms) == 0) return std::nullopt;
  return picture_of(pixels, parts_->width, parts_->height, parts_->alpha);
}

void WebpAnimation::rewind() {
  if (parts_->decoder != nullptr) return WebPAnimDecoderReset(parts_->decoder.get());
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0)
    fail_corrupt(parts_->source, "libwebp has an unexpected version");
  options.color_mode = MODE_RGBA;
  options.use_threads = 0;
  const std::string_view bytes =
      parts_->repaired.empty() ? parts_->source.bytes : std::string_view(parts_->repaired);
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  parts_->decoder.reset(WebPAnimDecoderNew(&data, &options));
}

}  // namespace sightline::image
