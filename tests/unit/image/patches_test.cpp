// Patch order and normalisation against the index formulas of the specification
// (sections 2.4, 2.5), frame repetition, and the identity hash that caches rely on.
#include "image/patches.hpp"

#include <gtest/gtest.h>

#include <set>

#include "calc/patch_order.hpp"
#include "image/picture.hpp"
#include "image/png_write.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

Image numbered(std::int64_t height, std::int64_t width, std::uint32_t seed) {
  return make_image(height, width, [=](std::int64_t y, std::int64_t x) {
    return (static_cast<std::uint32_t>(y * 131 + x * 7) * 2654435761U + seed) & 0xFFFFFF;
  });
}

// Every float from the formula that the specification gives for its source pixel.
void expect_formula(const std::vector<Image>& images, const ProcessorConfig& config) {
  std::vector<const std::uint8_t*> pointers;
  for (const Image& image : images) pointers.push_back(image.rgb.data());
  const std::int64_t height = images[0].height, width = images[0].width;
  const auto count = static_cast<std::int64_t>(images.size());
  const std::int64_t p = config.patch_size, m = config.merge_size,
                     slices = config.temporal_patch_size;
  const Grid grid{(count + slices - 1) / slices, height / p, width / p};
  std::vector<float> out(static_cast<std::size_t>(grid.patches() * config.row_floats()));
  write_patches({pointers, height, width}, config, PixelTable(config), out);

  std::size_t i = 0;
  for (std::int64_t row = 0; row < grid.patches(); ++row) {
    const std::int64_t inside = row % (m * m), block = row / (m * m);
    const std::int64_t bx = block % (grid.w / m), by = block / (grid.w / m) % (grid.h / m);
    const std::int64_t t = block / ((grid.w / m) * (grid.h / m));
    for (std::int64_t column = 0; column < config.row_floats(); ++column, ++i) {
      const std::int64_t px = column % p, py = column / p % p, slice = column / (p * p) % slices;
      const std::int64_t c = column / (p * p * slices);
      const std::int64_t y = (m * by + inside / m) * p + py, x = (m * bx + inside % m) * p + px;
      const auto frame = static_cast<std::size_t>(std::min(slices * t + slice, count - 1));
      const std::uint8_t byte =
          images[frame].rgb[static_cast<std::size_t>((y * width + x) * 3 + c)];
      ASSERT_EQ(out[i], (static_cast<float>(byte) - 127.5F) / 127.5F)
          << "row " << row << " column " << column;
    }
  }
}

TEST(Patches, OrderOfAPicture) { expect_formula({numbered(64, 96, 1)}, published_config()); }

// The page's patch lab names rows by calc/patch_order.hpp; the tower's input is written here.
TEST(Patches, RowsAreThoseOfTheCalculator) {
  const ProcessorConfig config = published_config();
  const std::vector<Image> images = {numbered(64, 96, 1), numbered(64, 96, 2), numbered(64, 96, 3)};
  const std::vector<const std::uint8_t*> pointers = {images[0].rgb.data(), images[1].rgb.data(),
                                                     images[2].rgb.data()};
  const Grid grid{2, 64 / config.patch_size, 96 / config.patch_size};
  std::vector<float> out(static_cast<std::size_t>(grid.patches() * config.row_floats()));
  write_patches({pointers, 64, 96}, config, PixelTable(config), out);
  for (std::int64_t row = 0; row < grid.patches(); ++row) {
    const auto place = calc::place_of_row(grid, config.merge_size, row);
    EXPECT_EQ(calc::row_of_patch(grid, config.merge_size, place.group, place.y, place.x), row);
    EXPECT_EQ(place.token, row / (config.merge_size * config.merge_size));
    const auto& image = images[static_cast<std::size_t>(place.group * config.temporal_patch_size)];
    const auto pixel = static_cast<std::size_t>(
        (place.y * config.patch_size * image.width + place.x * config.patch_size) * 3);
    EXPECT_EQ(out[static_cast<std::size_t>(row * config.row_floats())],
              (static_cast<float>(image.rgb[pixel]) - 127.5F) / 127.5F)
        << row;
  }
}

TEST(Patches, PairsOfFramesAndAnOddLastOne) {
  expect_formula({numbered(32, 64, 1), numbered(32, 64, 2)}, published_config());
  expect_formula({numbered(32, 32, 1), numbered(32, 32, 2), numbered(32, 32, 3)},
                 published_config());
}

TEST(Patches, GeometryComesFromTheConfiguration) {
  ProcessorConfig config = published_config();
  config.patch_size = 14;
  config.temporal_patch_size = 3;
  config.merge_size = 3;
  expect_formula(
      {numbered(42, 84, 1), numbered(42, 84, 2), numbered(42, 84, 3), numbered(42, 84, 4)}, config);
}

// A grey picture gives equal rows everywhere (constant input is how a wrong bias or slice shows in
// the tower).
TEST(Patches, ConstantPictureGivesEqualRows) {
  const ProcessorConfig config = published_config();
  const Picture picture = prepare_picture(
      make_image(256, 256, [](std::int64_t, std::int64_t) { return 0x808080U; }), config, "grey");
  std::vector<float> values(static_cast<std::size_t>(picture.grid.patches() * config.row_floats()));
  write_pixel_values(picture, config, values);
  for (const float value : values) ASSERT_EQ(value, (128.0F - 127.5F) / 127.5F);
}

TEST(Patches, WrongBufferIsAnErrorNotAnOverrun) {
  const ProcessorConfig config = published_config();
  const Image image = numbered(32, 32, 1);
  const std::uint8_t* pixels = image.rgb.data();
  std::vector<float> small(10);
  expect_error(Code::internal, {"write_patches", "10"},
               [&] { write_patches({{&pixels, 1}, 32, 32}, config, PixelTable(config), small); });
}

TEST(PixelTable, OtherSettings) {
  ProcessorConfig config = published_config();
  EXPECT_EQ(PixelTable(config).channel(0)[255], 1.0F);
  EXPECT_EQ(PixelTable(config).channel(2)[0], -1.0F);
  config.image_mean = {0.1, 0.2, 0.3};
  config.image_std = {0.5, 0.25, 2.0};
  EXPECT_EQ(PixelTable(config).channel(1)[17], (17.0F - 0.2F * 255.0F) / (0.25F * 255.0F));
  config.do_normalize = false;
  EXPECT_EQ(PixelTable(config).channel(1)[17], 17.0F * (1.0F / 255.0F));
  config.do_rescale = false;
  EXPECT_EQ(PixelTable(config).channel(1)[17], 17.0F);
}

// One changed bit, or the same pixels in another shape, is another picture; the same content is the
// same.
TEST(PixelHash, CoversPixelsAndGrid) {
  const ProcessorConfig config = published_config();
  std::set<PixelHash> seen;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    EXPECT_TRUE(seen.insert(prepare_picture(numbered(256, 256, seed), config, "a").hash).second)
        << seed;
  }
  EXPECT_FALSE(seen.insert(prepare_picture(numbered(256, 256, 5), config, "b").hash).second);
  const Image flat = make_image(32, 64, [](std::int64_t, std::int64_t) { return 0U; });
  const std::uint8_t* pixels = flat.rgb.data();
  EXPECT_NE(hash_pixels({{&pixels, 1}, 32, 64}, {1, 2, 4}),
            hash_pixels({{&pixels, 1}, 64, 32}, {1, 4, 2}));
}

// What --out writes must read back as what the tower was given.
TEST(PngWrite, RoundTrip) {
  for (const auto& [height, width] : {std::pair{1, 1}, std::pair{7, 300}, std::pair{64, 5}}) {
    const Image image = numbered(height, width, 3);
    EXPECT_EQ(decode(encode_png(image), "a.png").image, image);
  }
  const Image image = numbered(5, 6, 3);
  const std::string path = testing::TempDir() + "/sightline_png_write_test.png";
  write_png(image, path);
  EXPECT_EQ(decode_file(path).image, image);
  std::remove(path.c_str());
  expect_error(Code::internal, {"0x0"}, [] { encode_png({}); });
}

}  // namespace
}  // namespace sightline::image
