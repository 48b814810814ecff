// The size rules against the tables of the specification (sections 2.2, 3.2) and against sizes that
// went wrong in other systems. A wrong size means a wrong number of tokens and positions.
#include "image/sizes.hpp"

#include <gtest/gtest.h>

#include <cfenv>

#include "image/picture.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

constexpr SizeRule kPublished{32, 65536, 16777216};
constexpr ClipRule kPublishedClip{{32, 4096, 25165824}, 2, false};

struct ImageCase {
  std::int64_t height, width, target_height, target_width, tokens;
};

TEST(Sizes, ImageTable) {
  for (const ImageCase& c : {
           ImageCase{64, 64, 256, 256, 64},
           ImageCase{1, 1, 256, 256, 64},
           ImageCase{2, 2, 256, 256, 64},
           ImageCase{240, 336, 256, 320, 80},
           ImageCase{300, 200, 320, 224, 70},
           ImageCase{480, 640, 480, 640, 300},
           ImageCase{1080, 1920, 1088, 1920, 2040},
           ImageCase{1365, 2048, 1376, 2048, 2752},
           ImageCase{4096, 4096, 4096, 4096, 16384},
           ImageCase{4100, 4100, 4096, 4096, 16384},
           ImageCase{5121, 5121, 4096, 4096, 16384},
           ImageCase{10, 2000, 32, 3648, 114},
           ImageCase{5000, 8000, 3232, 5152, 16261},
           ImageCase{5, 1000, 32, 3648, 114},
           ImageCase{26, 28, 256, 288, 72},
           ImageCase{27, 332, 96, 928, 87},
           ImageCase{2000, 2000, 1984, 1984, 3844},
           ImageCase{1000, 1000, 992, 992, 961},
           ImageCase{112, 112, 256, 256, 64},
           ImageCase{80, 80, 256, 256, 64},
           ImageCase{16, 24, 224, 320, 70},
           ImageCase{24, 16, 320, 224, 70},
           ImageCase{3024, 4032, 3008, 4032, 11844},
           ImageCase{2160, 3840, 2176, 3840, 8160},
           ImageCase{375, 512, 384, 512, 192},
       }) {
    const TargetSize size = image_target_size(c.height, c.width, kPublished);
    EXPECT_EQ(size.status, SizeStatus::ok);
    EXPECT_EQ(size.height, c.target_height) << c.height << "x" << c.width;
    EXPECT_EQ(size.width, c.target_width) << c.height << "x" << c.width;
    EXPECT_EQ(grid_of(1, size, 16, 2).tokens(2), c.tokens) << c.height << "x" << c.width;
  }
}

TEST(Sizes, RatioOf200IsTheLast) {
  EXPECT_EQ(image_target_size(5, 1000, kPublished).status, SizeStatus::ok);
  EXPECT_EQ(image_target_size(200, 1, kPublished).status, SizeStatus::ok);
  EXPECT_EQ(image_target_size(201, 1, kPublished).status, SizeStatus::aspect_ratio);
  EXPECT_EQ(image_target_size(1, 201, kPublished).status, SizeStatus::aspect_ratio);
  EXPECT_EQ(image_target_size(10, 2001, kPublished).status, SizeStatus::aspect_ratio);
  EXPECT_EQ(image_target_size(5, 1093, kPublished).status, SizeStatus::aspect_ratio);
}

TEST(Sizes, NonsenseIsRefusedNotComputed) {
  EXPECT_EQ(image_target_size(0, 5, kPublished).status, SizeStatus::bad_size);
  EXPECT_EQ(image_target_size(5, -1, kPublished).status, SizeStatus::bad_size);
  EXPECT_EQ(image_target_size(std::int64_t{1} << 40, 5, kPublished).status, SizeStatus::bad_size);
  EXPECT_EQ(image_target_size(5, 5, {0, 1, 1}).status, SizeStatus::bad_rule);
  EXPECT_EQ(image_target_size(5, 5, {32, 1, 0}).status, SizeStatus::bad_rule);
  EXPECT_EQ(video_target_size(2, 0, 5, kPublishedClip).status, SizeStatus::bad_size);
  EXPECT_EQ(video_target_size(2, 5, 5, {{32, 1, 1}, 0, false}).status, SizeStatus::bad_rule);
}

struct VideoCase {
  std::int64_t frames, height, width, target_height, target_width, tokens_per_group, groups;
};

TEST(Sizes, VideoTable) {
  for (const VideoCase& c : {
           VideoCase{2, 64, 64, 64, 64, 4, 1},
           VideoCase{3, 16, 16, 32, 32, 1, 2},
           VideoCase{12, 768, 1344, 768, 1344, 1008, 6},
           VideoCase{20, 720, 1280, 704, 1280, 880, 10},
           VideoCase{46, 720, 1280, 544, 960, 510, 23},
           VideoCase{768, 720, 1280, 128, 224, 28, 384},
           VideoCase{10, 70, 70, 64, 64, 4, 5},
           VideoCase{10, 32, 32, 32, 32, 1, 5},
           VideoCase{30, 384, 640, 384, 640, 240, 15},
           VideoCase{29, 384, 640, 384, 640, 240, 15},
       }) {
    const TargetSize size = video_target_size(c.frames, c.height, c.width, kPublishedClip);
    EXPECT_EQ(size.status, SizeStatus::ok);
    EXPECT_EQ(size.height, c.target_height) << c.frames << " frames " << c.height << "x" << c.width;
    EXPECT_EQ(size.width, c.target_width) << c.frames << " frames " << c.height << "x" << c.width;
    const Grid grid = grid_of(c.frames, size, 16, 2);
    EXPECT_EQ(grid.t, c.groups);
    EXPECT_EQ(grid.tokens(2), c.groups * c.tokens_per_group);
  }
  EXPECT_EQ(video_target_size(1, 64, 64, kPublishedClip).status, SizeStatus::too_few_frames);
}

// The option of the reference that limits the pixels of one frame, off by default.
TEST(Sizes, CapPerFrameLimitsShortClips) {
  ClipRule capped = kPublishedClip;
  capped.cap_pixels_per_frame = true;
  const TargetSize free = video_target_size(2, 2160, 3840, kPublishedClip);
  const TargetSize limited = video_target_size(2, 2160, 3840, capped);
  EXPECT_GT(free.height * free.width, 768 * 32 * 32);
  EXPECT_LE(limited.height * limited.width, 768 * 32 * 32);
}

// Half to even, whatever rounding mode a host application has set.
TEST(Sizes, RoundingIgnoresTheFloatingPointEnvironment) {
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    EXPECT_EQ(round_half_even(2.5), 2);
    EXPECT_EQ(round_half_even(3.5), 4);
    EXPECT_EQ(round_half_even(0.5), 0);
    EXPECT_EQ(round_half_even(62.5), 62);
    EXPECT_EQ(round_half_even(2.4999), 2);
    EXPECT_EQ(round_half_even(2.5001), 3);
    EXPECT_EQ(round_half_even(7), 7);
  }
  std::fesetround(FE_TONEAREST);
}

TEST(Sizes, ErrorsNameTheSidesAndTheLimit) {
  const ProcessorConfig config = published_config();
  expect_error(Code::image_aspect_ratio, {"strip.png", "201x1", "200"},
               [&] { target_size(1, 201, config, "strip.png"); });
  expect_error(Code::invalid_image, {"none", "0x0"}, [&] { target_size(0, 0, config, "none"); });
  ProcessorConfig fixed = config;
  fixed.do_resize = false;
  EXPECT_EQ(target_size(64, 96, fixed, "a").width, 96);
  expect_error(Code::invalid_image, {"a", "do_resize", "multiples of 32", "97x64"},
               [&] { target_size(64, 97, fixed, "a"); });
}

}  // namespace
}  // namespace sightline::image
