// The fast resize against a slow one written straight from the specification (section 2.3), bit for
// bit, over odd sizes, and its bounds on memory. The goldens compare with the reference itself.
#include "image/resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "image/resize_filter.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

// One pass along columns, no tricks: every output sample from its window of input samples.
Image plain_pass(const Image& in, std::int64_t width) {
  const AxisFilter filter = make_axis_filter(in.width, width);
  Image out{width, in.height,
            std::vector<std::uint8_t>(static_cast<std::size_t>(width * in.height * 3))};
  for (std::int64_t i = 0; i < width * in.height * 3; ++i) {
    const std::int64_t c = i % 3, x = i / 3 % width, y = i / 3 / width;
    const auto& window = filter.windows[static_cast<std::size_t>(x)];
    std::int64_t sum = std::int64_t{1} << (filter.precision - 1);
    for (std::int64_t j = 0; j < window.count; ++j) {
      sum += std::int64_t{filter.weights[window.weights + static_cast<std::size_t>(j)]} *
             in.rgb[static_cast<std::size_t>((y * in.width + window.first + j) * 3 + c)];
    }
    out.rgb[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> filter.precision, 0, 255));
  }
  return out;
}

Image transposed(const Image& in) {
  return make_image(in.width, in.height, [&](std::int64_t y, std::int64_t x) {
    const std::uint8_t* p = &in.rgb[static_cast<std::size_t>((x * in.width + y) * 3)];
    return std::uint32_t{p[0]} << 16 | std::uint32_t{p[1]} << 8 | p[2];
  });
}

Image plain_resize(const Image& in, std::int64_t height, std::int64_t width) {
  const Image wide = width == in.width ? in : plain_pass(in, width);
  return height == in.height ? wide : transposed(plain_pass(transposed(wide), height));
}

Image noise(std::int64_t height, std::int64_t width, std::mt19937& random) {
  return make_image(height, width, [&](std::int64_t, std::int64_t) { return random() & 0xFFFFFF; });
}

TEST(Resize, EqualsThePlainForm) {
  std::mt19937 random(7);
  const auto side = [&](int limit) {
    return static_cast<std::int64_t>(1 + random() % static_cast<unsigned>(limit));
  };
  for (int i = 0; i < 60; ++i) {
    const Image image = noise(side(150), side(150), random);
    const std::int64_t height = i % 5 == 0 ? image.height : side(120);
    const std::int64_t width = i % 7 == 0 ? image.width : side(120);
    EXPECT_EQ(resized(image, height, width), plain_resize(image, height, width))
        << image.height << "x" << image.width << " to " << height << "x" << width;
  }
}

// Tall pictures run through the window of kept rows many times; wide ones have windows wider than a
// block of rows.
TEST(Resize, WindowsOfRowsSurviveStrongScaling) {
  std::mt19937 random(8);
  const Image tall = noise(1000, 3, random);
  for (const std::int64_t height : {1, 2, 17, 999, 1001, 2500}) {
    EXPECT_EQ(resized(tall, height, 5), plain_resize(tall, height, 5)) << height;
  }
}

TEST(Resize, SameSizeIsTheSamePicture) {
  std::mt19937 random(9);
  const Image image = noise(32, 64, random);
  EXPECT_EQ(resized(image, 32, 64), image);
}

TEST(Resize, ConstantPicturesStayConstant) {
  const Image grey = make_image(37, 53, [](std::int64_t, std::int64_t) { return 0x808182U; });
  EXPECT_EQ(resized(grey, 96, 64),
            make_image(96, 64, [](std::int64_t, std::int64_t) { return 0x808182U; }));
}

// Weights use the most bits that fit 16: downscaling by large factors must not lose precision.
TEST(ResizeFilter, PrecisionGrowsWithTheScale) {
  EXPECT_EQ(make_axis_filter(100, 200).precision, 14);
  EXPECT_EQ(make_axis_filter(2000, 100).precision, 19);
  EXPECT_EQ(make_axis_filter(1000000, 10).precision, 22);
  for (const AxisFilter& filter : {make_axis_filter(7, 300), make_axis_filter(300, 7)}) {
    for (const auto& window : filter.windows) {
      EXPECT_GE(window.first, 0);
      EXPECT_GT(window.count, 0);
    }
  }
}

}  // namespace
}  // namespace sightline::image
