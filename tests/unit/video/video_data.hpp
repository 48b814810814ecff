// Shared by the tests of the video layer: the clips of tests/data/video (made by make.sh there),
// and what their frames look like.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "io/file.hpp"
#include "sightline/error.hpp"
#include "video/clip.hpp"
#include "video/codes.hpp"

namespace sightline::video {

inline std::string clip_path(const std::string& name) {
  return std::string(SIGHTLINE_TEST_DATA) + "/video/" + name;
}

inline std::unique_ptr<FrameReader> reader_of(const std::string& name,
                                              const image::DecodeOptions& options = {}) {
  return open_path(clip_path(name), options).reader;
}

/// False in a build without FFmpeg, whose tests of container files are skipped.
inline bool has_ffmpeg() {
  try {
    (void)reader_of("counted.mp4");
  } catch (const Error& error) {
    return std::string(error.what()).find("this build of sightline") == std::string::npos;
  }
  return true;
}

inline std::array<int, 3> pixel(const image::Image& image, std::int64_t x, std::int64_t y) {
  const std::uint8_t* p = image.rgb.data() + (y * image.width + x) * 3;
  return {p[0], p[1], p[2]};
}

/// The number of a frame of the counted clips: luma 20 + 6 N in limited range.
inline double frame_number(const image::Image& image) {
  const double grey = pixel(image, image.width / 2, image.height / 2)[1];
  return (grey * 219.0 / 255.0 + 16 - 20) / 6;
}

/// Expects an Error of this code whose one-line message has every part.
inline void expect_error(Code code, const std::initializer_list<std::string_view>& parts,
                         const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_STREQ(code_name(error.code()), code_name(code)) << error.what();
    const std::string_view message = error.what();
    EXPECT_EQ(message.find('\n'), std::string_view::npos) << message;
    for (const std::string_view part : parts)
      EXPECT_NE(message.find(part), std::string_view::npos) << message << "\nlacks: " << part;
    return;
  }
  ADD_FAILURE() << "no error; expected " << code_name(code);
}

/// The values of the published video_preprocessor_config.json.
inline VideoProcessorConfig published_config() {
  return read_video_processor_config(std::string(SIGHTLINE_TEST_DATA) + "/processor");
}

}  // namespace sightline::video
