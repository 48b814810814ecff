// Container files through the FFmpeg libraries, which this file and ffmpeg_frame.cpp alone know.
// Each frame that sampling wants is decoded from the nearest key frame before it, nothing is kept
// but the last picture. Only our own bytes are read: no other file, no network (formats that point
// elsewhere are not opened). A build without FFmpeg holds the error instead.
#include <fmt/format.h>

#include "sightline/error.hpp"
#include "video/codes.hpp"
#include "video/readers.hpp"

#ifdef SIGHTLINE_WITH_FFMPEG

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <algorithm>
#include <cstring>
#include <string_view>

#include "image/orient.hpp"
#include "video/ffmpeg_frame.hpp"
#include "video/matroska.hpp"
#include "video/timeline.hpp"

namespace sightline::video {
namespace {

// Names of FFmpeg's demuxers that may open a file. None of them follows a path or an address that a
// file holds.
constexpr const char* kDemuxers = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,gif";
constexpr const char* kAccepted = "MP4, MOV, WebM, Matroska (MKV), GIF or animated WebP";
// Bounds the index; some 38 hours at 30 frames per second.
constexpr std::size_t kMaxPackets = std::size_t{1} << 22;
constexpr int kReadBytes = 1 << 15;
constexpr std::size_t kNameBytes = 64;       // hold the name of the kind of Matroska
constexpr std::size_t kSegmentBytes = 4096;  // hold the size of its Segment

struct Delete {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVIOContext* io) const {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

std::string fault(int status) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(status, text, sizeof text);
  return text;
}

// The bytes as FFmpeg reads them.
class Input {
 public:
  explicit Input(ByteSource source) : source_(std::move(source)) {
    auto* buffer = static_cast<unsigned char*>(taken(av_malloc(kReadBytes)));
    io_.reset(avio_alloc_context(buffer, kReadBytes, 0, this, &Input::read, nullptr, &Input::seek));
    if (io_ == nullptr) av_free(buffer);
    taken(io_.get());
  }
  [[nodiscard]] std::string head(std::size_t count) const {
    std::string bytes(count, '\0');
    const std::int64_t got = source_.read(0, reinterpret_cast<std::uint8_t*>(bytes.data()),
                                          static_cast<std::int64_t>(count));
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    return bytes;
  }
  [[nodiscard]] std::int64_t size() const { return source_.size(); }
  [[nodiscard]] AVIOContext* rewound() {
    at_ = 0;
    avio_flush(io_.get());
    avio_seek(io_.get(), 0, SEEK_SET);
    io_->eof_reached = 0;
    io_->error = 0;
    return io_.get();
  }

 private:
  static int read(void* self, std::uint8_t* out, int count) {
    auto& input = *static_cast<Input*>(self);
    const std::int64_t got = input.source_.read(input.at_, out, count);
    if (got < 0) return AVERROR(EIO);
    input.at_ += got;
    return got == 0 ? AVERROR_EOF : static_cast<int>(got);
  }
  static std::int64_t seek(void* self, std::int64_t offset, int whence) {
    auto& input = *static_cast<Input*>(self);
    whence &= ~AVSEEK_FORCE;
    if (whence == AVSEEK_SIZE) return input.source_.size();
    const std::int64_t base = whence == SEEK_CUR   ? input.at_
                              : whence == SEEK_END ? input.source_.size()
                                                   : 0;
    if (offset < -base || offset > INT64_MAX - base) return AVERROR(EINVAL);
    return input.at_ = base + offset;
  }

  ByteSource source_;
  std::int64_t at_ = 0;
  Owned<AVIOContext> io_;
};

int refuse_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

// VP8 stores frames that are never shown as packets of their own (RFC 6386, section 9.1: show_frame
// is bit 4 of the first byte).
bool is_shown(const AVPacket& packet, AVCodecID codec) {
  constexpr unsigned kShow = 0x10;
  return codec != AV_CODEC_ID_VP8 || packet.size == 0 || (packet.data[0] & kShow) != 0;
}

int stored_orientation(const AVStream* stream) {
  std::size_t size = 0;
  const std::uint8_t* bytes = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  std::int32_t matrix[9];
  if (bytes == nullptr || size < sizeof matrix) return 1;
  std::memcpy(matrix, bytes, sizeof matrix);
  return orientation_of(matrix);
}

// `head` is the beginning of the file; Matroska files say there whether they are WebM.
const char* container_name(const AVFormatContext* format, std::string_view head) {
  const std::string_view demuxer = format->iformat->name;
  if (demuxer.starts_with("matroska"))
    return head.find("webm") != std::string_view::npos ? "WebM" : "Matroska";
  if (demuxer.starts_with("gif")) return "GIF";
  const AVDictionaryEntry* brand = av_dict_get(format->metadata, "major_brand", nullptr, 0);
  return brand != nullptr && std::string_view(brand->value).starts_with("qt") ? "MOV" : "MP4";
}

class ContainerClip final : public FrameReader {
 public:
  ContainerClip(ByteSource source, std::string name, const image::DecodeOptions& options)
      : input_(std::move(source)),
        name_(std::move(name)),
        options_(options),
        packet_(taken(av_packet_alloc())),
        frame_(taken(av_frame_alloc())),
        convert_(options.alpha) {
    // The library must not write to its host's standard error; a host that chose a level keeps it.
    if (av_log_get_level() == AV_LOG_INFO) av_log_set_level(AV_LOG_QUIET);
    open();
    count();
    describe();
  }

  image::Image frame(std::int64_t index) override {
    const std::int64_t wanted = timeline_.stored(index);
    if (wanted < shown_at_) restart();
    if (wanted == shown_at_) return shown_;
    skip_to(wanted);
    bool found = advance(wanted);
    if (!found && jumped_) {  // the container's index leads astray: from the beginning, then
      seekable_ = false;
      restart();
      found = advance(wanted);
    }
    if (found) return shown_;
    if (shown_.rgb.empty()) fail(kInvalidVideo, "expected frames, found none that can be decoded");
    note(fmt::format("damaged: frame {} cannot be decoded, the one before it is shown", wanted));
    return shown_;
  }

 private:
  struct KeyFrame {
    std::int64_t at = 0;  ///< its place in the order of presentation
    std::int64_t dts = 0;
  };

  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw Error(code, fmt::format("{}: {}", name_, what), {{"file", name_}});
  }
  void open();
  void open_decoder();
  void check_size(std::int64_t width, std::int64_t height) const;
  void count();
  void describe();
  void describe_end(std::int64_t packets);
  bool read_packet();
  void restart();
  void skip_to(std::int64_t wanted);
  bool advance(std::int64_t wanted);
  bool receive(std::int64_t wanted);
  [[nodiscard]] std::int64_t place_of_frame();

  Input input_;
  std::string name_;
  image::DecodeOptions options_;
  Owned<AVFormatContext> format_;
  Owned<AVCodecContext> codec_;
  Owned<AVPacket> packet_;
  Owned<AVFrame> frame_;
  FrameConverter convert_;
  AVStream* stream_ = nullptr;

  std::vector<std::int64_t> times_;  // ascending presentation times; empty: frames are counted
  std::vector<KeyFrame> keys_;       // ascending
  std::int64_t hidden_ = 0;          // packets that are decoded but not shown
  std::string end_fault_;
  Timeline timeline_;
  bool can_skip_ = false;  // the decoder leaves frames out that no other frame needs
  bool seekable_ = true, jumped_ = false, drained_ = false;
  std::int64_t next_ = 0;       // place of the next frame, when frames are counted
  std::int64_t shown_at_ = -1;  // place of shown_
  image::Image shown_;
};

void ContainerClip::open() {
  codec_.reset();
  format_.reset();
  AVFormatContext* format = taken(avformat_alloc_context());
  format->pb = input_.rewound();
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  format->io_open = &refuse_open;
  format->format_whitelist = av_strdup(kDemuxers);
  const int status = avformat_open_input(&format, "", nullptr, nullptr);  // frees it if it fails
  if (status < 0) {
    const bool known = status != AVERROR_INVALIDDATA && status != AVERROR(EINVAL);
    fail(known ? kInvalidVideo : kUnsupportedVideo,
         fmt::format("expected a video ({}), found content that cannot be opened ({}); if it plays "
                     "elsewhere, convert it: ffmpeg -i FILE out.mp4",
                     kAccepted, fault(status)));
  }
  format_.reset(format);
  if (avformat_find_stream_info(format, nullptr) < 0)
    fail(kInvalidVideo, "the container describes no stream that can be read");
  const int best = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (best < 0 || (format->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0)
    fail(kInvalidVideo, "expected a video track, found none (sound alone?)");
  stream_ = format->streams[best];
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (static_cast<int>(i) != best) format->streams[i]->discard = AVDISCARD_ALL;
  }
  check_size(stream_->codecpar->width, stream_->codecpar->height);
  open_decoder();
}

void ContainerClip::check_size(std::int64_t width, std::int64_t height) const {
  if (width <= 0 || height <= 0)
    fail(kInvalidVideo,
         fmt::format("expected frames with a size, found {}x{} (none, or one beyond all limits)",
                     width, height));
  if (width > options_.max_pixels / height) {
    fail(Code::image_too_large,
         fmt::format("expected frames of at most {} pixels, found {}x{}; scale the video down or "
                     "raise --max-image-pixels",
                     options_.max_pixels, width, height));
  }
}

void ContainerClip::open_decoder() {
  const AVCodecParameters* parameters = stream_->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  if (codec == nullptr) {
    fail(kUnsupportedVideo,
         fmt::format("the video is coded as {}, which this FFmpeg does not decode; convert it: "
                     "ffmpeg -i FILE out.mp4",
                     avcodec_get_name(parameters->codec_id)));
  }
  codec_.reset(taken(avcodec_alloc_context3(codec)));
  codec_->thread_count = 1;
  can_skip_ = codec->id == AV_CODEC_ID_H264 || codec->id == AV_CODEC_ID_HEVC;
  codec_->max_pixels = options_.max_pixels;
  codec_->pkt_timebase = stream_->time_base;
  const bool open = avcodec_parameters_to_context(codec_.get(), parameters) >= 0 &&
                    avcodec_open2(codec_.get(), codec, nullptr) >= 0;
  if (!open) fail(kInvalidVideo, fmt::format("the {} decoder refuses the track", codec->name));
}

// The next packet of the video track that stands for a shown frame or leads to one; false at the
// end, or where the file cannot be read on.
bool ContainerClip::read_packet() {
  for (;;) {
    av_packet_unref(packet_.get());
    const int status = av_read_frame(format_.get(), packet_.get());
    if (status < 0) {
      if (status != AVERROR_EOF) end_fault_ = fault(status);
      return false;
    }
    if (packet_->stream_index == stream_->index && packet_->size > 0) return true;
  }
}

// One pass over all packets, without decoding: how many frames there are, when they are shown, and
// where decoding can begin.
void ContainerClip::count() {
  struct Packet {
    std::int64_t pts, dts;
    bool key;
  };
  std::vector<Packet> packets;
  bool timed = true;
  StoredTimes times;
  std::int64_t last = INT64_MIN;
  while (read_packet()) {
    const bool hidden = (packet_->flags & AV_PKT_FLAG_DISCARD) != 0 ||
                        !is_shown(*packet_, stream_->codecpar->codec_id);
    if (hidden) ++hidden_;
    if (hidden || (packet_->flags & AV_PKT_FLAG_CORRUPT) != 0) continue;
    if (packets.size() == kMaxPackets)
      fail(kVideoTooLarge, fmt::format("expected at most {} frames, found more", kMaxPackets));
    timed = timed && packet_->pts != AV_NOPTS_VALUE;
    packets.push_back({packet_->pts, packet_->dts, (packet_->flags & AV_PKT_FLAG_KEY) != 0});
    if (packet_->pts > last) {
      last = packet_->pts;
      times.last_duration = packet_->duration;
    }
  }
  if (packets.empty()) fail(kInvalidVideo, "expected frames, found none in the video track");
  if (timed) {
    for (const Packet& packet : packets) times_.push_back(packet.pts);
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    for (const Packet& packet : packets) {
      if (!packet.key || packet.dts == AV_NOPTS_VALUE) continue;
      const auto place = std::lower_bound(times_.begin(), times_.end(), packet.pts);
      keys_.push_back({place - times_.begin(), packet.dts});
    }
    std::sort(keys_.begin(), keys_.end(), [](auto& a, auto& b) { return a.at < b.at; });
  }
  times.ticks = times_;
  if (!timed) times.ticks.assign(packets.size(), 0);
  times.tick = av_q2d(stream_->time_base);
  if (stream_->avg_frame_rate.num > 0) times.stated_rate = av_q2d(stream_->avg_frame_rate);
  timeline_ = make_timeline(times);
  describe_end(static_cast<std::int64_t>(packets.size()));
  restart();
}

// Says when less is there than the container promises.
void ContainerClip::describe_end(std::int64_t packets) {
  const std::int64_t promised = stream_->nb_frames - hidden_;
  if (promised > packets) {  // the last frames may lack some between them: no rate to speak of
    facts_.notes.push_back(fmt::format("ends early: {} of {} frames are there", packets, promised));
    return;
  }
  if (timeline_.variable)
    facts_.notes.push_back(variable_rate_note(static_cast<std::int64_t>(times_.size())));
  constexpr double kSlack = 1.0;  // seconds; tracks of one file rarely end together
  const double promised_end = static_cast<double>(format_->duration) / AV_TIME_BASE;
  const double end = timeline_.rate ? static_cast<double>(timeline_.frames) / *timeline_.rate : 0;
  const bool alone = format_->nb_streams == 1 && format_->duration > 0;
  if (!end_fault_.empty()) {
    facts_.notes.push_back(fmt::format("damaged after {} frames: {}", packets, end_fault_));
  } else if (alone && end > 0 && promised_end > end + kSlack) {
    facts_.notes.push_back(
        fmt::format("ends early: {:.1f} of {:.1f} seconds are there", end, promised_end));
  } else if (const auto whole = matroska_bytes(input_.head(kSegmentBytes));
             whole && *whole > input_.size()) {
    facts_.notes.push_back(
        fmt::format("ends early: {} of {} bytes are there", input_.size(), *whole));
  }
}

void ContainerClip::describe() {
  const AVCodecParameters* parameters = stream_->codecpar;
  facts_.format = fmt::format("{} ({})", container_name(format_.get(), input_.head(kNameBytes)),
                              avcodec_get_name(parameters->codec_id));
  facts_.frames = timeline_.frames;
  facts_.rate = timeline_.rate;
  facts_.orientation = stored_orientation(stream_);
  facts_.width = parameters->width;
  facts_.height = parameters->height;
  constexpr int kFirstTransposed = 5;
  if (facts_.orientation >= kFirstTransposed) std::swap(facts_.width, facts_.height);
  const bool hdr = parameters->color_trc == AVCOL_TRC_SMPTE2084 ||
                   parameters->color_trc == AVCOL_TRC_ARIB_STD_B67;
  if (hdr) facts_.notes.emplace_back("HDR: brightness is not mapped to that of a common screen");
}

void ContainerClip::restart() {
  open();
  jumped_ = drained_ = false;
  next_ = 0;
  shown_at_ = -1;
}

// Goes to the last key frame at or before the wanted frame, unless decoding is there already.
void ContainerClip::skip_to(std::int64_t wanted) {
  if (!seekable_ || keys_.empty()) return;
  const auto after =
      std::upper_bound(keys_.begin(), keys_.end(), wanted,
                       [](std::int64_t at, const KeyFrame& key) { return at < key.at; });
  if (after == keys_.begin()) return;
  const KeyFrame& key = *(after - 1);
  if (key.at <= shown_at_ + 1 || key.at == 0) return;
  if (av_seek_frame(format_.get(), stream_->index, key.dts, AVSEEK_FLAG_BACKWARD) < 0) {
    seekable_ = false;
    restart();
    return;
  }
  avcodec_flush_buffers(codec_.get());
  jumped_ = true;
  drained_ = false;
}

// Where the frame just received belongs in the order of presentation.
std::int64_t ContainerClip::place_of_frame() {
  if (times_.empty()) return next_++;
  const auto place = std::lower_bound(times_.begin(), times_.end(), frame_->best_effort_timestamp);
  return std::min<std::int64_t>(place - times_.begin(),
                                static_cast<std::int64_t>(times_.size()) - 1);
}

// The next decoded frame in frame_; false at the end. Packets that do not decode are left out.
bool ContainerClip::receive(std::int64_t wanted) {
  for (;;) {
    const int status = avcodec_receive_frame(codec_.get(), frame_.get());
    if (status >= 0) return true;
    if (status == AVERROR_EOF || drained_) return false;
    if (status != AVERROR(EAGAIN)) note("damaged: some packets cannot be decoded");
    if (!read_packet()) {
      drained_ = true;
      avcodec_send_packet(codec_.get(), nullptr);
      continue;
    }
    // Frames before the wanted one that no other frame needs are not decoded at all.
    const bool passed = !times_.empty() && packet_->pts < times_[static_cast<std::size_t>(wanted)];
    codec_->skip_frame = passed && can_skip_ ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
    if (avcodec_send_packet(codec_.get(), packet_.get()) < 0)
      note("damaged: some packets cannot be decoded");
  }
}

// Decodes up to the wanted frame, or the first one after it, and makes it shown_. False at the end,
// and when a jump went beyond the frame.
bool ContainerClip::advance(std::int64_t wanted) {
  for (bool first = true; receive(wanted); first = false) {
    const std::int64_t place = place_of_frame();
    if (place < wanted) continue;
    if (first && jumped_ && place > wanted) return false;
    check_size(frame_->width, frame_->height);
    shown_ = image::oriented(convert_(*frame_), facts_.orientation);
    shown_at_ = place;
    jumped_ = false;
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<FrameReader> read_container(ByteSource source, const std::string& name,
                                            const image::DecodeOptions& options) {
  return std::make_unique<ContainerClip>(std::move(source), name, options);
}

}  // namespace sightline::video

#else

namespace sightline::video {

std::unique_ptr<FrameReader> read_container(ByteSource, const std::string& name,
                                            const image::DecodeOptions&) {
  throw Error(kNoVideoDecoder,
              fmt::format("{}: this build of sightline reads no video files but animated WebP: "
                          "install libavformat-dev libavcodec-dev libswscale-dev libavutil-dev and "
                          "build again, or extract the frames and give their folder with "
                          "--video-fps",
                          name),
              {{"file", name}});
}

}  // namespace sightline::video

#endif
