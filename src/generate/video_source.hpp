// Where the videos of a request come from: files, folders, encoded bytes, lists of frames; each
// opened, sampled and sized, but not decoded.
#pragma once

#include <optional>
#include <string>

#include "generate/prompt.hpp"

namespace sightline::generate {

/// What the engine's options say of videos.
struct VideoDefaults {
  VideoOptions options;
  std::optional<std::int64_t> total_pixels;
};

/// Opens a video, chooses its frames and their size; decodes none. `picture` of the result has
/// sizes, grid, tokens and hash. Throws Error naming the video.
PromptPicture prepare(const Video& source, const std::string& where,
                      const std::string& base_directory,
                      const video::VideoProcessorConfig& processor, const VideoDefaults& defaults,
                      const image::DecodeOptions& decode);

}  // namespace sightline::generate
