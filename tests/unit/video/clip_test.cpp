// Clips made ready for the tower. Protects: which frames are looked at and when (the published
// rule), sizes, pixel values group by group, what a clip's hash stands for, and the errors of
// options that contradict.
#include "video/clip.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "calc/sampling.hpp"
#include "image/patches.hpp"
#include "image/png_write.hpp"
#include "image/resize.hpp"
#include "video_data.hpp"

namespace sightline::video {
namespace {

namespace fs = std::filesystem;

/// A folder of frame pictures, gone with the object. Frame N is plain grey 10 N.
class FrameFolder {
 public:
  FrameFolder(std::int64_t count, std::int64_t width, std::int64_t height)
      : path_(fs::path(testing::TempDir()) /
              (std::string("clip_") + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(path_);
    for (std::int64_t n = 0; n < count; ++n) write(n, width, height);
  }
  ~FrameFolder() { fs::remove_all(path_); }
  FrameFolder(const FrameFolder&) = delete;
  FrameFolder& operator=(const FrameFolder&) = delete;

  void write(std::int64_t n, std::int64_t width, std::int64_t height) const {
    image::Image frame{width, height, {}};
    frame.rgb.assign(static_cast<std::size_t>(width * height * 3),
                     static_cast<std::uint8_t>(10 * n));
    image::write_png(frame, file(n));
  }
  [[nodiscard]] std::string file(std::int64_t n) const {
    return (path_ / ("frame" + std::to_string(n + 1) + ".png")).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Clip clip_of(const std::string& path, const ClipOptions& options = {}) {
  return {open_path(path, {}), published_config(), options, path};
}

std::vector<std::int64_t> indices(const Clip& clip) {
  std::vector<std::int64_t> list;
  for (std::int64_t k = 0; k < clip.sampling().count; ++k) list.push_back(clip.sampling().index(k));
  return list;
}

TEST(Clip, AFolderIsLookedAtWholeInTheOrderOfNumbers) {
  const FrameFolder folder(12, 64, 40);
  Clip clip = clip_of(folder.path());
  ASSERT_EQ(clip.sampling().count, 12);
  EXPECT_FALSE(clip.rate());
  EXPECT_EQ(clip.grid(), (image::Grid{6, 2, 4}));
  for (std::int64_t k = 0; k < 12; ++k) EXPECT_EQ(pixel(clip.frame(k), 3, 3)[0], 10 * k);
  EXPECT_EQ(clip.sampling().seconds(1), calc::group_seconds(2, 3, 24));
  ClipOptions with_rate;
  with_rate.rate = 5;
  EXPECT_EQ(clip_of(folder.path(), with_rate).sampling().seconds(1), calc::group_seconds(2, 3, 5));
}

TEST(Clip, AListWithCommasIsAClip) {
  const FrameFolder folder(3, 32, 32);
  Clip clip = clip_of(folder.file(2) + "," + folder.file(0));
  ASSERT_EQ(clip.sampling().count, 2);
  EXPECT_EQ(pixel(clip.frame(0), 1, 1)[0], 20);
  EXPECT_EQ(pixel(clip.frame(1), 1, 1)[0], 0);
}

TEST(Clip, FrameOptionsFollowThePublishedRule) {
  const FrameFolder folder(12, 32, 32);
  ClipOptions options;
  options.rate = 6;
  for (const double fps : {0.5, 1.0, 2.0, 4.0, 6.0, 60.0}) {
    for (const std::int64_t most : {4, 7, 768}) {
      options.fps = fps;
      options.max_frames = most;
      calc::SamplingRule rule;
      rule.max_frames = most;
      const calc::Sampling expected = calc::sample_qwen({12, 6.0, fps, std::nullopt}, rule);
      const Clip clip = clip_of(folder.path(), options);
      ASSERT_EQ(clip.sampling().count, expected.count) << fps << " " << most;
      for (std::int64_t k = 0; k < expected.count; ++k)
        EXPECT_EQ(clip.sampling().index(k), expected.index(k));
    }
  }
  ClipOptions number;
  number.num_frames = 5;
  EXPECT_EQ(indices(clip_of(folder.path(), number)), (std::vector<std::int64_t>{0, 3, 6, 8, 11}));
  ClipOptions most;
  most.max_frames = 4;
  EXPECT_EQ(indices(clip_of(folder.path(), most)), (std::vector<std::int64_t>{0, 4, 7, 11}));
}

TEST(Clip, AFileIsSampledAtTwoFramesASecond) {
  if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  Clip clip = clip_of(clip_path("counted.mp4"));  // 30 frames at 10 a second
  EXPECT_EQ(indices(clip), (std::vector<std::int64_t>{0, 6, 12, 17, 23, 29}));
  EXPECT_EQ(clip.grid().t, 3);
  for (std::int64_t k = 0; k < clip.sampling().count; ++k)
    EXPECT_NEAR(frame_number(clip.frame(k)), static_cast<double>(clip.sampling().index(k)), 0.45);
  EXPECT_TRUE(clip.take_notes().empty());
}

// Groups at a time, in any cut, equal patches of all frames at once; an odd last frame is repeated.
TEST(Clip, PixelValuesGroupByGroupAreThoseOfAllFrames) {
  const FrameFolder folder(5, 50, 40);
  Clip clip = clip_of(folder.path());
  ASSERT_EQ(clip.groups(), 3);
  std::vector<image::Image> frames;
  std::vector<const std::uint8_t*> pixels;
  for (std::int64_t k = 0; k < 5; ++k)
    frames.push_back(image::resized(clip.frame(k), clip.size().height, clip.size().width));
  for (const image::Image& frame : frames) pixels.push_back(frame.rgb.data());
  const auto group =
      static_cast<std::size_t>(clip.patches_per_group() * clip.config().row_floats());
  std::vector<float> expected(3 * group), found(3 * group);
  image::write_patches({pixels, clip.size().height, clip.size().width}, clip.config(),
                       image::PixelTable(clip.config()), expected);
  clip.write_pixel_values(0, 1, std::span(found).first(group));
  clip.write_pixel_values(1, 2, std::span(found).subspan(group));
  EXPECT_EQ(found, expected);
}

TEST(Clip, ItsHashTellsContentFramesAndSizeApart) {
  const FrameFolder folder(8, 64, 64);
  const Clip clip = clip_of(folder.path());
  EXPECT_EQ(clip.hash(), clip_of(folder.path()).hash());
  ClipOptions fewer;
  fewer.num_frames = 4;
  EXPECT_NE(clip.hash(), clip_of(folder.path(), fewer).hash());
  ClipOptions smaller;
  smaller.total_pixels = 8 * 32 * 32;
  const Clip small = clip_of(folder.path(), smaller);
  EXPECT_EQ(small.size().height, 32);
  EXPECT_NE(clip.hash(), small.hash());
  folder.write(9, 64, 64);
  fs::rename(folder.file(9), folder.file(3));
  EXPECT_NE(clip.hash(), clip_of(folder.path()).hash());
}

TEST(Clip, PixelLimitsOfFramesAndOfAll) {
  const FrameFolder folder(4, 128, 64);
  ClipOptions options;
  options.max_pixels = 64 * 32;
  EXPECT_EQ(clip_of(folder.path(), options).size().width, 64);
  options = {};
  options.min_pixels = 256 * 128;
  EXPECT_EQ(clip_of(folder.path(), options).size().width, 256);
  options.total_pixels = 4 * 64 * 32;
  expect_error(Code::invalid_option, {"pixel limits", "131072", "8192", "4 frames"},
               [&] { (void)clip_of(folder.path(), options); });
}

TEST(Clip, ErrorsNameTheClipAndTheReason) {
  const FrameFolder folder(4, 32, 32);
  ClipOptions both;
  both.fps = 1;
  both.num_frames = 3;
  expect_error(Code::invalid_option, {folder.path(), "mutually exclusive"},
               [&] { (void)clip_of(folder.path(), both); });
}

TEST(Clip, OneFrameIsAPicture) {
  const FrameFolder folder(1, 32, 32);
  expect_error(kInvalidVideo, {folder.path(), "at least 2 frames", "found 1", "-i"},
               [&] { (void)clip_of(folder.path()); });
}

TEST(Clip, FramesOfAnotherSizeAreRefused) {
  const FrameFolder folder(3, 32, 32);
  folder.write(2, 40, 32);
  Clip clip = clip_of(folder.path());
  EXPECT_EQ(clip.frame(1).width, 32);
  expect_error(kInvalidVideo, {folder.file(2), "32x32", "40x32"}, [&] { (void)clip.frame(2); });
}

TEST(Clip, AFolderWithoutPicturesIsAnError) {
  const FrameFolder folder(0, 1, 1);
  expect_error(kInvalidVideo, {folder.path(), "frame pictures", "none"},
               [&] { (void)clip_of(folder.path()); });
}

TEST(Clip, StripsAreRefused) {
  const FrameFolder folder(2, 4, 1000);
  expect_error(Code::image_aspect_ratio, {folder.path(), "4x1000"},
               [&] { (void)clip_of(folder.path()); });
}

TEST(Clip, MoreFramesThanAnyContextHoldsAreRefusedBeforeMemoryIsTaken) {
  const FrameFolder folder(2, 640, 640);
  ClipOptions options;
  options.num_frames = 100'000;
  options.min_pixels = 640 * 640;
  options.total_pixels = std::int64_t{1} << 40;
  expect_error(kVideoTooLarge, {folder.path(), "100000 frames", "--max-frames"},
               [&] { (void)clip_of(folder.path(), options); });
}

TEST(VideoProcessor, PublishedFileIsRead) {
  const VideoProcessorConfig config = published_config();
  EXPECT_EQ(config.frames.min_pixels, 4096);
  EXPECT_EQ(config.frames.max_pixels, 25165824);
  EXPECT_EQ(config.frames.patch_size, 16);
  EXPECT_EQ(config.sampling.fps, 2);
  EXPECT_EQ(config.sampling.min_frames, 4);
  EXPECT_EQ(config.sampling.max_frames, 768);
  EXPECT_TRUE(config.do_sample_frames);
}

TEST(VideoProcessor, WhatItSaysDiffersIsUsedOrRefused) {
  const std::string head =
      R"({"size": {"shortest_edge": 4096, "longest_edge": 8192}, "patch_size": 16,
          "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5],
          "image_std": [0.5, 0.5, 0.5])";
  const auto parse = [&](const std::string& more) {
    return parse_video_processor_config(io::parse_json(head + more + "}", "v.json"), "v.json");
  };
  EXPECT_EQ(parse(R"(, "fps": 1, "max_frames": 32)").sampling.max_frames, 32);
  expect_error(Code::invalid_processor, {"v.json", "video_processor_type", "Other"},
               [&] { (void)parse(R"(, "video_processor_type": "Other")"); });
  expect_error(Code::invalid_processor, {"v.json", "fps"}, [&] { (void)parse(R"(, "fps": 0)"); });
  expect_error(Code::missing_file, {"video_preprocessor_config.json", "download"},
               [] { (void)read_video_processor_config("/nonexistent"); });
}

}  // namespace
}  // namespace sightline::video
