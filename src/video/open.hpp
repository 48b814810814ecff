// Opens a clip by what it is: a container file, an animated WebP, a folder of frame pictures, or a
// list of them. The one entry that callers above this layer need besides clip.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "image/decode.hpp"
#include "video/frame_reader.hpp"
#include "video/readers.hpp"

namespace sightline::video {

/// A clip whose frames have not been looked at yet.
struct OpenedClip {
  std::unique_ptr<FrameReader> reader;
  std::array<std::uint8_t, 32> content{};  ///< SHA-256 of its bytes, or of all its pictures
};

/// A file, a folder (its pictures, numbers in their names in order: 2.png before 10.png), or paths
/// of pictures with commas between. Throws Error(file_not_found, file_unreadable), and what
/// readers.hpp says.
OpenedClip open_path(const std::string& path, const image::DecodeOptions& options);

/// The bytes of a file; `name` is what errors call it.
OpenedClip open_bytes(std::string bytes, const std::string& name,
                      const image::DecodeOptions& options);

/// Frames that were extracted before.
OpenedClip open_frames(std::vector<FramePicture> pictures, const std::string& name,
                       const image::DecodeOptions& options);

}  // namespace sightline::video
