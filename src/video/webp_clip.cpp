// Animated WebP as a clip (readers.hpp).
#include <fmt/format.h>

#include <utility>

#include "image/webp_animation.hpp"
#include "sightline/error.hpp"
#include "video/codes.hpp"
#include "video/readers.hpp"
#include "video/timeline.hpp"

namespace sightline::video {
namespace {

constexpr double kMillisecond = 1e-3;

class WebpClip final : public FrameReader {
 public:
  WebpClip(ByteSource source, std::string name, const image::DecodeOptions& options)
      : source_(std::move(source)),
        name_(std::move(name)),
        animation_(source_.whole(name_), name_, options) {
    const std::vector<std::int64_t>& ends = animation_.ends();
    if (ends.empty()) fail("expected a frame, found none that is whole");
    StoredTimes times;
    times.tick = kMillisecond;
    times.ticks.push_back(0);
    times.ticks.insert(times.ticks.end(), ends.begin(), ends.end() - 1);
    times.last_duration = ends.back() - times.ticks.back();
    timeline_ = make_timeline(times);
    facts_.format = "WebP";
    facts_.frames = timeline_.frames;
    facts_.rate = timeline_.rate;
    facts_.width = animation_.width();
    facts_.height = animation_.height();
    const auto stored = static_cast<std::int64_t>(ends.size());
    if (animation_.is_cut())
      facts_.notes.push_back(fmt::format("ends early: the first {} frames are there", stored));
    if (timeline_.variable) facts_.notes.push_back(variable_rate_note(stored));
  }

  image::Image frame(std::int64_t index) override {
    const std::int64_t wanted = timeline_.stored(index);
    if (wanted < at_) {
      animation_.rewind();
      at_ = -1;
    }
    while (at_ < wanted) {
      std::optional<image::Image> next = animation_.next();
      if (!next) {
        if (shown_.rgb.empty()) fail("expected frames, found none that can be decoded");
        note(
            fmt::format("damaged: frame {} and those after it cannot be decoded, the one before "
                        "them is shown",
                        at_ + 1));
        return shown_;
      }
      shown_ = std::move(*next);
      ++at_;
    }
    return shown_;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(kInvalidVideo, fmt::format("{}: {}", name_, what), {{"file", name_}});
  }

  ByteSource source_;
  std::string name_;
  image::WebpAnimation animation_;
  Timeline timeline_;
  std::int64_t at_ = -1;  // stored frame that shown_ is
  image::Image shown_;
};

}  // namespace

std::unique_ptr<FrameReader> read_webp(ByteSource source, const std::string& name,
                                       const image::DecodeOptions& options) {
  return std::make_unique<WebpClip>(std::move(source), name, options);
}

}  // namespace sightline::video
