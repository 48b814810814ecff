// Frames out of files. Protects: that the frame asked for is the frame given, in every container
// and any order; orientation, colours, transparency; and that damaged or foreign files end in an
// answer or an error that names them, never in a crash or in another file being read.
#include <gtest/gtest.h>

#include <filesystem>

#include "video_data.hpp"

namespace sightline::video {
namespace {

class Container : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  }
};

class Counted : public Container, public testing::WithParamInterface<const char*> {};

TEST_P(Counted, EveryFrameIsTheOneAskedFor) {
  const auto reader = reader_of(GetParam());
  const ClipFacts& facts = reader->facts();
  EXPECT_NEAR(*facts.rate, 10, 0.01);
  EXPECT_EQ(facts.width, 64);
  EXPECT_EQ(facts.height, 48);
  EXPECT_TRUE(facts.notes.empty()) << facts.notes[0];
  for (std::int64_t k = 0; k < facts.frames; ++k)
    EXPECT_NEAR(frame_number(reader->frame(k)), static_cast<double>(k), 0.45) << k;
  // Jumps, forward and back, give the same bits as reading on.
  for (const std::int64_t k : {25, 3, 17, 16, 29, 0, 8, 7, 24, 24}) {
    if (k >= facts.frames) continue;
    const auto fresh = reader_of(GetParam());
    for (std::int64_t i = 0; i < k; ++i) (void)fresh->frame(i);
    EXPECT_EQ(reader->frame(k), fresh->frame(k)) << k;
  }
  EXPECT_TRUE(reader->take_notes().empty());
}

INSTANTIATE_TEST_SUITE_P(Files, Counted,
                         testing::Values("counted.mp4", "counted.mov", "counted.mkv",
                                         "counted.webm", "counted-vp8.webm", "counted.gif",
                                         "sound-and-video.mp4"));

TEST_F(Container, FormatAndFramesAreCounted) {
  const std::pair<const char*, const char*> formats[] = {
      {"counted.mp4", "MP4 (h264)"},      {"counted.mov", "MOV (h264)"},
      {"counted.mkv", "Matroska (h264)"}, {"counted.webm", "WebM (vp9)"},
      {"counted-vp8.webm", "WebM (vp8)"}, {"sound-and-video.mp4", "MP4 (h264)"}};
  for (const auto& [name, format] : formats) {
    const auto reader = reader_of(name);
    EXPECT_EQ(reader->facts().format, format);
    EXPECT_EQ(reader->facts().frames, 30) << name;
  }
  EXPECT_EQ(reader_of("counted.gif")->facts().frames, 12);
}

TEST_F(Container, RotationIsApplied) {
  // Stored: left dark, right bright, 64x32.
  const auto dark = [](const image::Image& image, std::int64_t x, std::int64_t y) {
    return pixel(image, x, y)[1] < 100;
  };
  const image::Image upright = reader_of("upright.mp4")->frame(0);
  EXPECT_TRUE(dark(upright, 2, 16));
  EXPECT_FALSE(dark(upright, 61, 16));
  const image::Image half = reader_of("rotated-180.mp4")->frame(0);
  EXPECT_FALSE(dark(half, 2, 16));
  EXPECT_TRUE(dark(half, 61, 16));
  const auto turned = reader_of("rotated-270.mp4");  // clockwise: what was left is on top
  EXPECT_EQ(turned->facts().orientation, 6);
  EXPECT_EQ(turned->facts().width, 32);
  EXPECT_EQ(turned->facts().height, 64);
  const image::Image quarter = turned->frame(3);
  ASSERT_EQ(quarter.height, 64);
  EXPECT_TRUE(dark(quarter, 16, 2));
  EXPECT_FALSE(dark(quarter, 16, 61));
  const image::Image back = reader_of("rotated-90.mp4")->frame(0);
  EXPECT_FALSE(dark(back, 16, 2));
  EXPECT_TRUE(dark(back, 16, 61));
}

TEST_F(Container, MatrixAndRangeOfTheStreamAreUsed) {
  for (const char* name :
       {"colour-bt709-tv.mp4", "colour-bt709-pc.mp4", "colour-smpte170m-tv.mp4"}) {
    const auto colour = pixel(reader_of(name)->frame(1), 16, 16);
    EXPECT_NEAR(colour[0], 200, 3) << name;
    EXPECT_NEAR(colour[1], 60, 3) << name;
    EXPECT_NEAR(colour[2], 30, 3) << name;
  }
}

TEST_F(Container, TransparencyFollowsTheRule) {
  const auto reader = reader_of("transparent.gif");
  EXPECT_EQ(reader->facts().frames, 4);
  const image::Image frame = reader->frame(2);  // the square stands at x 8 to 15, y 8 to 15
  EXPECT_EQ(pixel(frame, 1, 1), (std::array{255, 255, 255}));
  EXPECT_GT(pixel(frame, 12, 12)[0], 240);
  EXPECT_LT(pixel(frame, 12, 12)[1], 20);
}

TEST_F(Container, AVariableRateIsSampledByTime) {
  const auto reader = reader_of("variable.mkv");
  const ClipFacts& facts = reader->facts();
  EXPECT_NEAR(*facts.rate, 20 / 11.0, 0.02);
  EXPECT_EQ(facts.frames, 20);
  ASSERT_EQ(facts.notes.size(), 1U);
  EXPECT_NE(facts.notes[0].find("variable frame rate"), std::string::npos);
  // After 5.5 of 11 seconds the sixth frame is on the screen, not the eleventh.
  EXPECT_NEAR(frame_number(reader->frame(10)), 5, 0.45);
  EXPECT_NEAR(frame_number(reader->frame(19)), 14, 0.45);
}

TEST_F(Container, WhatIsThereOfACutFileIsUsedAndSaid) {
  for (const char* name : {"cut.mp4", "cut.webm"}) {
    const auto reader = reader_of(name);
    const ClipFacts& facts = reader->facts();
    EXPECT_GE(facts.frames, 8) << name;
    EXPECT_LT(facts.frames, 30) << name;
    ASSERT_FALSE(facts.notes.empty()) << name;
    EXPECT_TRUE(facts.notes[0].find("ends early") != std::string::npos ||
                facts.notes[0].find("damaged") != std::string::npos)
        << facts.notes[0];
    for (std::int64_t k = 0; k < facts.frames; ++k)
      EXPECT_NEAR(frame_number(reader->frame(k)), static_cast<double>(k), 1.45) << name << k;
  }
}

TEST_F(Container, EveryTruncationIsAClipOrAnError) {
  for (const char* name : {"counted.mp4", "counted.webm", "counted.gif", "counted.mkv"}) {
    const std::string whole = io::read_file(clip_path(name));
    for (std::size_t size = 1; size < whole.size(); size += 1 + whole.size() / 60) {
      try {
        const auto reader = open_bytes(whole.substr(0, size), name, {}).reader;
        EXPECT_GE(reader->facts().frames, 1);
        // A GIF that ends between two frames says nothing about the others.
        EXPECT_TRUE(!reader->facts().notes.empty() || std::string_view(name).ends_with("gif"))
            << name << ' ' << size;
        const image::Image last = reader->frame(reader->facts().frames - 1);
        EXPECT_EQ(last.rgb.size(), static_cast<std::size_t>(last.width * last.height * 3));
      } catch (const Error& error) {
        EXPECT_EQ(std::string_view(error.what()).find(name), 0U) << error.what();
      }
    }
  }
}

TEST_F(Container, FilesWithoutFramesAreErrors) {
  const auto open = [](const char* name) { return [name] { (void)reader_of(name); }; };
  expect_error(kInvalidVideo, {"sound.mp4", "video track", "sound alone"}, open("sound.mp4"));
  expect_error(kInvalidVideo, {"no-frames.mp4", "video track"}, open("no-frames.mp4"));
}

TEST_F(Container, ForeignContentIsRefused) {
  const auto open = [](std::string bytes) {
    return [bytes] { (void)open_bytes(bytes, "x.mp4", {}); };
  };
  expect_error(kInvalidVideo, {"x.mp4", "0 bytes"}, open(""));
  expect_error(kUnsupportedVideo, {"x.mp4", "MP4", "convert"}, open("no video at all"));
  // Formats that point to other files or to the network are never followed.
  const std::string other = std::filesystem::absolute(clip_path("counted.mp4")).string();
  expect_error(kUnsupportedVideo, {"x.mp4"}, open("ffconcat version 1.0\nfile '" + other + "'\n"));
  expect_error(kUnsupportedVideo, {"x.mp4"},
               open("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + other + "\n"));
  const std::string png = io::read_file(SIGHTLINE_TEST_DATA "/images/red-64.png");
  expect_error(kUnsupportedVideo, {"x.mp4", "one PNG picture", "-i"}, open(png));
}

TEST_F(Container, DeclaredSizesAreCheckedFirst) {
  image::DecodeOptions options;
  options.max_pixels = 64 * 48 - 1;
  for (const char* name : {"counted.mp4", "counted.webm", "counted.gif"})
    expect_error(Code::image_too_large, {name, "64x48", "--max-image-pixels"},
                 [&] { (void)reader_of(name, options); });
  // 65535 x 65535: FFmpeg itself refuses, before anything is allocated.
  expect_error(kInvalidVideo, {"bomb.gif", "expected frames with a size"},
               [] { (void)open_path(SIGHTLINE_TEST_DATA "/image_cases/bomb.gif", {}); });
}

TEST(Webp, FramesByTime) {
  const auto reader = reader_of("counted.webp");
  EXPECT_EQ(reader->facts().format, "WebP");
  EXPECT_EQ(reader->facts().frames, 8);
  EXPECT_EQ(*reader->facts().rate, 4);
  for (const std::int64_t k : {0, 3, 7, 2, 2, 5})
    EXPECT_EQ(pixel(reader->frame(k), 10, 10),
              (std::array<int, 3>{static_cast<int>(20 * k), static_cast<int>(20 * k),
                                  static_cast<int>(20 * k)}));
  const auto variable = reader_of("variable.webp");  // 100 ms each, the fifth 500 ms: 1.2 seconds
  EXPECT_EQ(variable->facts().frames, 8);
  EXPECT_NEAR(*variable->facts().rate, 8 / 1.2, 1e-9);
  EXPECT_EQ(pixel(variable->frame(4), 1, 1)[0], 80);  // 0.6 s: the fifth is still shown
  EXPECT_EQ(pixel(variable->frame(7), 1, 1)[0], 120);
}

TEST(Webp, WhatIsThereOfACutFileIsUsedAndSaid) {
  const auto reader = reader_of("cut.webp");
  EXPECT_GE(reader->facts().frames, 1);
  EXPECT_LT(reader->facts().frames, 8);
  ASSERT_FALSE(reader->facts().notes.empty());
  EXPECT_NE(reader->facts().notes[0].find("ends early"), std::string::npos);
  const std::int64_t last = reader->facts().frames - 1;
  EXPECT_EQ(pixel(reader->frame(last), 10, 10)[0], 20 * last);
  EXPECT_TRUE(reader->take_notes().empty());
}

TEST(Webp, DeclaredSizesAreCheckedFirst) {
  image::DecodeOptions options;
  options.max_pixels = 100;
  expect_error(Code::image_too_large, {"counted.webp", "48x32"},
               [&] { (void)reader_of("counted.webp", options); });
}

TEST(Paths, ErrorsNameThem) {
  expect_error(Code::file_not_found, {"absent.mp4"}, [] { (void)reader_of("absent.mp4"); });
}

}  // namespace
}  // namespace sightline::video
