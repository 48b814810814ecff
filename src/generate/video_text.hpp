// The text that stands for a video in a prompt: time stamps and one placeholder for each group of
// frames (specification section 3.4). HF: Qwen3VLProcessor.replace_video_token.
#pragma once

#include "generate/prompt.hpp"

namespace sightline::generate {

/// Replaces the video placeholders of the template (never those that somebody typed), in order, by
/// the groups of the videos among `pictures`. Throws Error(placeholder_mismatch) unless there is
/// one for each video.
SourceText with_video_groups(const SourceText& text, const std::vector<PromptPicture>& pictures,
                             VideoWrapper wrapper);

}  // namespace sightline::generate
