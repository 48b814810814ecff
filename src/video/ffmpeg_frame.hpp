// A decoded frame of FFmpeg as a picture, and how its stream says that it is turned. Internal to
// ffmpeg.cpp, only in builds with FFmpeg.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "image/image.hpp"
#include "sightline/error.hpp"

struct AVFrame;
struct SwsContext;

namespace sightline::video {

/// What FFmpeg allocated. Throws Error(memory_limit) for a null pointer.
template <class T>
T* taken(T* memory) {
  if (memory == nullptr) throw Error(Code::memory_limit, "not enough memory to read a video");
  return memory;
}

/// How a display matrix (9 values; it maps (x, y) to (a x + c y, b x + d y)) turns a frame, as an
/// EXIF orientation. Other angles go to the nearest right one.
int orientation_of(const std::int32_t* matrix) noexcept;

/// Frames to 8-bit RGB: the stream's matrix and range (BT.601 and limited where it says nothing, as
/// FFmpeg itself takes it), alpha by the rule, the same bits on every machine. Not thread-safe.
class FrameConverter {
 public:
  explicit FrameConverter(image::Alpha alpha) : alpha_(alpha) {}

  image::Image operator()(const AVFrame& frame);

 private:
  struct Delete {
    void operator()(SwsContext* scaler) const;
  };
  void prepare(const AVFrame& frame, bool alpha);
  void copy_row(const std::uint8_t* in, std::int64_t width, bool alpha, std::uint8_t* out) const;

  image::Alpha alpha_;
  std::unique_ptr<SwsContext, Delete> scaler_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace sightline::video
