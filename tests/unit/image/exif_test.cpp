// The orientation reader: both byte orders, all value types, and blocks that lie about their size.
#include "image/exif.hpp"

#include <gtest/gtest.h>

#include <string>

#include "image/orient.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

TEST(Exif, ReadsBothByteOrders) {
  EXPECT_EQ(exif_orientation("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"sv), 6);
  EXPECT_EQ(exif_orientation("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"sv), 6);
  EXPECT_EQ(exif_orientation("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"sv),
            8);
  EXPECT_EQ(exif_orientation("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x03"sv),
            3);  // LONG
}

TEST(Exif, BrokenBlocksGiveNone) {
  const std::string good(
      "II*\0\x08\0\0\0\x02\0\x0F\x01\x03\0\x01\0\0\0\x06\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0",
      34);
  EXPECT_EQ(exif_orientation(good), 6);
  for (std::size_t size = 0; size < 32; ++size)
    EXPECT_EQ(exif_orientation(std::string_view(good).substr(0, size)), 0);
  std::string far = good;
  far[4] = far[5] = far[6] = far[7] = '\xFF';
  EXPECT_EQ(exif_orientation(far), 0);
  std::string nine = good;
  nine[30] = 9;
  EXPECT_EQ(exif_orientation(nine), 0);
  EXPECT_EQ(exif_orientation("XX*\0"), 0);
}

TEST(Xmp, ReadsAttributeAndElement) {
  EXPECT_EQ(xmp_orientation("<a tiff:Orientation=\"6\"/>"), 6);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>3</tiff:Orientation>"), 3);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>"), 0);
  EXPECT_EQ(xmp_orientation("tiff:Orientation=\"0\""), 0);
  EXPECT_EQ(xmp_orientation("nothing"), 0);
}

// Each orientation written out by hand for a picture of 2 rows and 3 columns: 1 2 3 / 4 5 6.
TEST(Orient, AllEight) {
  const Image stored = make_image(2, 3, [](std::int64_t y, std::int64_t x) {
    return static_cast<std::uint32_t>(y * 3 + x + 1);
  });
  const auto turned = [&](int orientation) {
    const Image image = oriented(stored, orientation);
    std::string text;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
      if (i > 0 && i / 3 % static_cast<std::size_t>(image.width) == 0) text += '/';
      text += static_cast<char>('0' + image.rgb[i + 2]);
    }
    return text;
  };
  EXPECT_EQ(turned(1), "123/456");
  EXPECT_EQ(turned(2), "321/654");
  EXPECT_EQ(turned(3), "654/321");
  EXPECT_EQ(turned(4), "456/123");
  EXPECT_EQ(turned(5), "14/25/36");
  EXPECT_EQ(turned(6), "41/52/63");
  EXPECT_EQ(turned(7), "63/52/41");
  EXPECT_EQ(turned(8), "36/25/14");
  EXPECT_EQ(turned(0), "123/456");
}

}  // namespace
}  // namespace sightline::image
