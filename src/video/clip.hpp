// A clip made ready for the tower: which frames are looked at, their size, patch grid, tokens and
// time stamps are known; the frames themselves are decoded, resized and cut into patches group by
// group when pixel values are wanted, so a long clip never lies in memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calc/sampling.hpp"
#include "image/picture.hpp"
#include "video/open.hpp"
#include "video/processor_config.hpp"

namespace sightline::video {

/// What a caller may ask for; the rest is the checkpoint's.
struct ClipOptions {
  std::optional<double> fps;                           ///< frames looked at per second, or
  std::optional<std::int64_t> num_frames;              ///< frames looked at
  std::optional<std::int64_t> min_frames, max_frames;  ///< limits of `fps`
  std::optional<double>
      rate;  ///< frames per second of frame pictures, which have none of their own
  std::optional<std::int64_t> min_pixels, max_pixels;  ///< of one frame
  std::optional<std::int64_t> total_pixels;            ///< of all frames looked at
};

class Clip {
 public:
  /// Samples and sizes; reads no frame. `name` is what errors call it. Frame pictures are all
  /// looked at unless options say fps or num_frames or they exceed max_frames asked for. Throws
  /// Error(kInvalidVideo) for fewer frames than a temporal patch, Error(image_aspect_ratio),
  /// Error(kVideoTooLarge), Error(invalid_option) for options that contradict.
  Clip(OpenedClip opened, const VideoProcessorConfig& config, const ClipOptions& options,
       std::string name);

  [[nodiscard]] const ClipFacts& facts() const { return reader_->facts(); }
  /// Frames per second, the clip's or the one given; unset: unknown, 24 is taken.
  [[nodiscard]] const std::optional<double>& rate() const { return rate_; }
  [[nodiscard]] const calc::Sampling& sampling() const { return sampling_; }
  [[nodiscard]] const image::TargetSize& size() const { return size_; }
  [[nodiscard]] const image::Grid& grid() const { return grid_; }
  [[nodiscard]] std::int64_t tokens() const { return grid_.tokens(config_.frames.merge_size); }
  [[nodiscard]] std::int64_t groups() const { return grid_.t; }
  [[nodiscard]] std::int64_t patches_per_group() const { return grid_.h * grid_.w; }
  /// Of its bytes, the frames looked at and their size: equal only when the tower's input is.
  [[nodiscard]] const image::PixelHash& hash() const { return hash_; }
  [[nodiscard]] const image::ProcessorConfig& config() const { return config_.frames; }

  /// Frame k of those looked at, 0 <= k < sampling().count, as decoded. Throws what
  /// FrameReader::frame() throws.
  image::Image frame(std::int64_t k);
  /// The same, resized.
  image::Image resized(std::int64_t k);
  /// Pixel values of `count` groups from `first` into `out`
  /// [count * patches_per_group()][row_floats()]; groups are cheapest in order.
  void write_pixel_values(std::int64_t first, std::int64_t count, std::span<float> out);
  /// What decoding brought to light since the last call.
  std::vector<std::string> take_notes() { return reader_->take_notes(); }

 private:
  void choose_frames(const ClipOptions& options);
  void choose_size(const ClipOptions& options);
  void make_hash(const std::array<std::uint8_t, 32>& content);

  std::unique_ptr<FrameReader> reader_;
  VideoProcessorConfig config_;
  std::string name_;
  std::optional<double> rate_;
  calc::Sampling sampling_;
  image::TargetSize size_;
  image::Grid grid_;
  image::PixelHash hash_;
};

}  // namespace sightline::video
