// Which error codes this layer throws. A clip is frames, so its faults carry the codes of pictures:
// a program that handles a bad picture handles a bad clip, and the message says which it was.
#pragma once

#include "sightline/error.hpp"

namespace sightline::video {

inline constexpr Code kInvalidVideo = Code::invalid_image;  ///< damaged, or without frames
inline constexpr Code kUnsupportedVideo =
    Code::unsupported_image_format;  ///< no container or codec that is read
inline constexpr Code kVideoTooLarge = Code::image_too_large;  ///< too many pixels in all frames
inline constexpr Code kNoVideoDecoder = Code::unsupported_content;  ///< built without FFmpeg

}  // namespace sightline::video
