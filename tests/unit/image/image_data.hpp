// Shared by the tests of the image layer: where files lie, short ways to read and compare them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/sha256.hpp"
#include "image/decode.hpp"
#include "image/processor_config.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "sightline/error.hpp"

namespace sightline::image {

inline std::string data_path(const std::string& name) {
  return std::string(SIGHTLINE_TEST_DATA) + "/" + name;
}

inline std::string pixel_hash(const Image& image) {
  return sha256_hex(image.rgb.data(), image.rgb.size());
}

/// The values of the published preprocessor_config.json.
inline ProcessorConfig published_config() {
  ProcessorConfig config;
  config.file = "preprocessor_config.json";
  config.min_pixels = 65536;
  config.max_pixels = 16777216;
  config.patch_size = 16;
  config.temporal_patch_size = 2;
  config.merge_size = 2;
  config.image_mean = config.image_std = {0.5, 0.5, 0.5};
  return config;
}

/// A picture of given size whose pixel (y, x) is colour(y, x), a 0xRRGGBB number.
inline Image make_image(std::int64_t height, std::int64_t width,
                        const std::function<std::uint32_t(std::int64_t, std::int64_t)>& colour) {
  Image image{width, height, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::uint32_t value = colour(y, x);
      for (const int shift : {16, 8, 0})
        image.rgb.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
  return image;
}

/// Expects `action` to throw an Error of this code whose one-line message has every part in
/// `parts`.
inline void expect_error(Code code, const std::initializer_list<std::string_view>& parts,
                         const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_STREQ(code_name(error.code()), code_name(code)) << error.what();
    const std::string_view message = error.what();
    EXPECT_EQ(message.find('\n'), std::string_view::npos) << message;
    for (const std::string_view part : parts) {
      EXPECT_NE(message.find(part), std::string_view::npos) << message << "\nlacks: " << part;
    }
    return;
  }
  ADD_FAILURE() << "no error; expected " << code_name(code);
}

}  // namespace sightline::image
