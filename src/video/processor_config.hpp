// The video half of a checkpoint's preprocessor files: geometry and normalisation as of pictures,
// limits that count the pixels of a whole clip, and the sampling rule. A value type.
#pragma once

#include <string>

#include "calc/sampling.hpp"
#include "image/processor_config.hpp"
#include "io/json.hpp"

namespace sightline::video {

/// HF: Qwen3VLVideoProcessor. Specification section 3.
struct VideoProcessorConfig {
  image::ProcessorConfig frames;  ///< min_pixels and max_pixels are those of a clip
  calc::SamplingRule sampling;    ///< temporal_patch is the processor's
  bool do_sample_frames = true;
  bool cap_pixels_per_frame = false;

  /// How frames are resized where a request has no limits of its own.
  [[nodiscard]] image::ClipRule clip_rule() const noexcept {
    return {frames.size_rule(), frames.temporal_patch_size, cap_pixels_per_frame};
  }
};

/// True if the directory has a file that describes a video processor. Throws
/// Error(invalid_processor) for a file that is no JSON.
bool has_video_processor(const std::string& directory);

/// Reads processor_config.json (its `video_processor` member) or else
/// video_preprocessor_config.json. Throws Error(missing_file), Error(invalid_processor).
VideoProcessorConfig read_video_processor_config(const std::string& directory);

/// The same from parsed JSON; `file` and `path` are what errors call it.
VideoProcessorConfig parse_video_processor_config(const io::Json& json, const std::string& file,
                                                  const std::string& path = "");

}  // namespace sightline::video
