// What the rest of the layer knows of a clip, wherever its frames come from: facts, and frames by
// index. One file per source implements it (ffmpeg.cpp, webp_clip.cpp, picture_clip.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "image/image.hpp"

namespace sightline::video {

/// A clip as it is sampled. One of variable frame rate counts as if it showed its frames at its
/// mean rate: frame k is what is on the screen k / rate seconds after the first frame.
struct ClipFacts {
  std::string format;          ///< "MP4 (h264)", "WebP", "frames (PNG)"
  std::int64_t frames = 0;     ///< at least 1
  std::optional<double> rate;  ///< frames per second; unknown for pictures without one
  bool extracted = false;      ///< frames were extracted before: not sampled unless asked for
  std::int64_t width = 0, height = 0;  ///< of the first frame, upright
  int orientation = 1;                 ///< EXIF orientation that is applied to every frame
  std::vector<std::string> notes;      ///< "ends early: 12 of 30 frames are there", …
};

/// Not thread-safe.
class FrameReader {
 public:
  FrameReader() = default;
  virtual ~FrameReader() = default;
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  [[nodiscard]] const ClipFacts& facts() const noexcept { return facts_; }
  /// Frame `index` of facts().frames, upright. Cheap when indices ascend. A frame that cannot be
  /// decoded is replaced by the one before it (the next one at the beginning), with a note. Throws
  /// Error(kInvalidVideo) if no frame can be decoded, Error(image_too_large), and what reading
  /// files throws.
  virtual image::Image frame(std::int64_t index) = 0;
  /// What reading frames brought to light since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 protected:
  /// Keeps a note once.
  void note(const std::string& text) {
    for (const std::string& known : said_) {
      if (known == text) return;
    }
    said_.push_back(text);
    notes_.push_back(text);
  }

  ClipFacts facts_;

 private:
  std::vector<std::string> notes_, said_;
};

}  // namespace sightline::video
