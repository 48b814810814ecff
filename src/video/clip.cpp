// Sampling, size and pixel values of a clip (clip.hpp).
#include "video/clip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/sha256.hpp"
#include "image/patches.hpp"
#include "image/resize.hpp"
#include "sightline/error.hpp"
#include "video/codes.hpp"

namespace sightline::video {
namespace {

void update(Sha256& hash, std::int64_t number) {
  std::array<std::uint8_t, 8> bytes;  // little-endian on every machine
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * i));
  hash.update(bytes.data(), bytes.size());
}

bool valid(const image::SizeRule& rule) {
  return rule.min_pixels >= 1 && rule.min_pixels <= rule.max_pixels &&
         rule.max_pixels <= image::kMaxPixelLimit;
}

}  // namespace

Clip::Clip(OpenedClip opened, const VideoProcessorConfig& config, const ClipOptions& options,
           std::string name)
    : reader_(std::move(opened.reader)), config_(config), name_(std::move(name)) {
  choose_frames(options);
  choose_size(options);
  make_hash(opened.content);
}

void Clip::choose_frames(const ClipOptions& options) {
  const ClipFacts& facts = reader_->facts();
  calc::SamplingRule rule = config_.sampling;
  rule.min_frames = options.min_frames.value_or(rule.min_frames);
  rule.max_frames = options.max_frames.value_or(rule.max_frames);
  calc::SamplingRequest request;
  request.total_frames = facts.frames;
  rate_ = facts.extracted && options.rate ? options.rate : facts.rate;
  request.native_fps = rate_;
  request.fps = options.fps;
  request.num_frames = options.num_frames;
  const bool asked = options.fps || options.num_frames;
  if (!asked && (facts.extracted || !config_.do_sample_frames)) {
    request.num_frames = options.max_frames ? std::min(facts.frames, *options.max_frames)
                                            : facts.frames;  // all, or evenly spread
  }
  sampling_ = calc::sample_qwen(request, rule);
  if (!sampling_.problem.ok()) {
    throw Error(Code::invalid_option,
                fmt::format("{}: frames to look at: {}", name_, sampling_.problem.message.view()),
                {{"file", name_}});
  }
  if (sampling_.count >= rule.temporal_patch) return;
  throw Error(kInvalidVideo,
              fmt::format("{}: expected at least {} frames to look at, found {} (of {} in the "
                          "clip); one frame is a picture (-i)",
                          name_, rule.temporal_patch, sampling_.count, facts.frames),
              {{"file", name_}});
}

void Clip::choose_size(const ClipOptions& options) {
  const ClipFacts& facts = reader_->facts();
  const std::int64_t n = sampling_.count;
  image::ClipRule rule = config_.clip_rule();
  // Bounds keep the products in 64 bits: at most 2^17 frames of 2^40 pixels.
  const auto of_all = [&](std::int64_t pixels) {
    return std::min(pixels, image::kMaxPixelLimit) * n;
  };
  if (options.total_pixels) rule.size.max_pixels = *options.total_pixels;
  if (options.max_pixels)
    rule.size.max_pixels = std::min(rule.size.max_pixels, of_all(*options.max_pixels));
  rule.size.min_pixels = options.min_pixels ? of_all(*options.min_pixels)
                                            : std::min(rule.size.min_pixels, rule.size.max_pixels);
  if (!valid(rule.size)) {
    throw Error(
        Code::invalid_option,
        fmt::format("{}: pixel limits of the clip: expected 1 <= smallest <= largest <= "
                    "{}, found {} and {} for {} frames",
                    name_, image::kMaxPixelLimit, rule.size.min_pixels, rule.size.max_pixels, n),
        {{"file", name_}});
  }
  size_ = image::video_target_size(n, facts.height, facts.width, rule);
  const Error::Context context{{"file", name_}};
  if (size_.status == image::SizeStatus::aspect_ratio) {
    throw Error(Code::image_aspect_ratio,
                fmt::format("{}: expected a longer side of at most {} times the shorter, found "
                            "{}x{} pixels; crop or pad it",
                            name_, image::kMaxAspectRatio, facts.width, facts.height),
                context);
  }
  if (size_.status != image::SizeStatus::ok) {
    throw Error(kInvalidVideo,
                fmt::format("{}: expected frames with sides of 1 to 2^31 pixels, found {}x{}",
                            name_, facts.width, facts.height),
                context);
  }
  if (size_.height > image::kMaxResizedPixels / size_.width / n) {
    throw Error(kVideoTooLarge,
                fmt::format("{}: expected at most {} pixels in all frames, found {} frames of "
                            "{}x{}; look at fewer frames (--max-frames) or smaller ones "
                            "(--video-pixels)",
                            name_, image::kMaxResizedPixels, n, size_.width, size_.height),
                context);
  }
  grid_ = image::grid_of(n, size_, config_.frames.patch_size, config_.frames.temporal_patch_size);
}

void Clip::make_hash(const std::array<std::uint8_t, 32>& content) {
  Sha256 hash;
  hash.update("clip", 4);
  hash.update(content.data(), content.size());
  for (const std::int64_t number : {grid_.t, grid_.h, grid_.w, sampling_.count})
    update(hash, number);
  for (std::int64_t k = 0; k < sampling_.count; ++k) update(hash, sampling_.index(k));
  const Sha256::Digest digest = hash.finish();
  std::copy_n(digest.begin(), hash_.bytes.size(), hash_.bytes.begin());
}

image::Image Clip::frame(std::int64_t k) { return reader_->frame(sampling_.index(k)); }

image::Image Clip::resized(std::int64_t k) {
  return image::resized(frame(k), size_.height, size_.width);
}

void Clip::write_pixel_values(std::int64_t first, std::int64_t count, std::span<float> out) {
  const image::PixelTable table(config_.frames);
  const std::int64_t patch = config_.frames.temporal_patch_size;
  const auto floats = static_cast<std::size_t>(patches_per_group() * config_.frames.row_floats());
  std::vector<image::Image> frames;
  std::vector<const std::uint8_t*> pixels;
  for (std::int64_t group = 0; group < count; ++group) {
    frames.clear();
    pixels.clear();
    const std::int64_t begin = (first + group) * patch;
    for (std::int64_t k = begin; k < std::min(begin + patch, sampling_.count); ++k)
      frames.push_back(resized(k));
    for (const image::Image& frame : frames) pixels.push_back(frame.rgb.data());
    image::write_patches({pixels, size_.height, size_.width}, config_.frames, table,
                         out.subspan(static_cast<std::size_t>(group) * floats, floats));
  }
}

}  // namespace sightline::video
