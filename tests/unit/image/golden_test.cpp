// The 34 reference files: every decoded byte, resized byte, grid, token count and patch value must
// equal what the reference image processor made of them. This is the proof that the model sees what
// it was trained to see.
#include <gtest/gtest.h>

#include "image/decode.hpp"
#include "image/picture.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

std::vector<std::int64_t> numbers(const io::Json& array) {
  std::vector<std::int64_t> values;
  for (const io::Json& value : array.as_array()) values.push_back(value.as_int());
  return values;
}

void expect_floats(const io::Json& expected, const float* found, const std::string& what) {
  for (std::size_t i = 0; i < expected.as_array().size(); ++i) {
    EXPECT_EQ(static_cast<float>(expected.as_array()[i].as_double()), found[i])
        << what << " value " << i;
  }
}

void check_case(const io::Json& golden, const ProcessorConfig& config) {
  const std::string file = golden.find("file")->as_string();
  SCOPED_TRACE(file);
  Decoded decoded = decode_file(data_path("images/" + file));
  const std::vector<std::int64_t> size{decoded.image.height, decoded.image.width};
  EXPECT_EQ(size, numbers(*golden.find("decoded")));
  EXPECT_EQ(pixel_hash(decoded.image), golden.find("decoded_rgb_sha256")->as_string());
  EXPECT_TRUE(decoded.report.warnings.empty());

  const Picture picture = prepare_picture(std::move(decoded.image), config, file);
  const std::vector<std::int64_t> resized{picture.resized.height, picture.resized.width};
  EXPECT_EQ(resized, numbers(*golden.find("resized")));
  EXPECT_EQ(pixel_hash(picture.resized), golden.find("resized_rgb_sha256")->as_string());
  EXPECT_EQ(picture.resized,
            decode_file(data_path("images/" + golden.find("expected")->as_string())).image);
  EXPECT_EQ((std::vector<std::int64_t>{picture.grid.t, picture.grid.h, picture.grid.w}),
            numbers(*golden.find("grid")));
  EXPECT_EQ(picture.tokens, golden.find("tokens")->as_int());

  std::vector<float> values(static_cast<std::size_t>(picture.grid.patches() * config.row_floats()));
  write_pixel_values(picture, config, values);
  expect_floats(*golden.find("first_row_first8"), values.data(), "first row");
  expect_floats(*golden.find("last_row_last8"), values.data() + values.size() - 8, "last row");
}

TEST(ImageGoldens, EveryFileEqualsTheReference) {
  const io::Json index = io::read_json_file(data_path("images/index.json"));
  const auto& cases = index.find("cases")->as_array();
  ASSERT_EQ(cases.size(), 34U);
  const ProcessorConfig config = published_config();
  for (const io::Json& golden : cases) check_case(golden, config);
}

}  // namespace
}  // namespace sightline::image
