// The three sources of frames (frame_reader.hpp). Internal to the layer; callers use open.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "image/decode.hpp"
#include "video/byte_source.hpp"
#include "video/frame_reader.hpp"

namespace sightline::video {

/// A container file through FFmpeg: MP4, MOV, Matroska, WebM, GIF. Counts its frames by reading
/// all packets once, then decodes what is asked for. Throws Error(kInvalidVideo,
/// kUnsupportedVideo, image_too_large); Error(kNoVideoDecoder) in a build without FFmpeg.
std::unique_ptr<FrameReader> read_container(ByteSource source, const std::string& name,
                                            const image::DecodeOptions& options);

/// An animated WebP file. Throws Error(invalid_image, kInvalidVideo, image_too_large).
std::unique_ptr<FrameReader> read_webp(ByteSource source, const std::string& name,
                                       const image::DecodeOptions& options);

/// One frame that was extracted before: a file, or the bytes of one.
struct FramePicture {
  std::string name;   ///< what errors call it; the path if there are no bytes
  std::string bytes;  ///< empty: read the file
};

/// Pictures as the frames of a clip; each is decoded when it is asked for. Throws
/// Error(kInvalidVideo) for none, or when one has another size than the first, and what
/// image::decode() throws.
std::unique_ptr<FrameReader> read_pictures(std::vector<FramePicture> pictures,
                                           const std::string& name,
                                           const image::DecodeOptions& options);

}  // namespace sightline::video
