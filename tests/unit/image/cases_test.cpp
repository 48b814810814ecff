// The odd files of tools/reference/image_cases.py: every orientation in every container,
// transparency, animations, pages, rare sample layouts, files under wrong names, damaged files and
// decompression bombs. Each must give the pixels that Pillow gives, or the stated error.
#include <gtest/gtest.h>

#include <fstream>

#include "image/decode.hpp"
#include "image/picture.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

std::string case_path(const std::string& file) { return data_path("image_cases/" + file); }

std::int64_t number_or(const io::Json& json, const char* key, std::int64_t fallback) {
  const io::Json* value = json.find(key);
  return value == nullptr ? fallback : value->as_int();
}

void check_decoded(const io::Json& expected, const std::string& file) {
  const Decoded decoded = decode_file(case_path(file));
  const auto& size = expected.find("decoded")->as_array();
  EXPECT_EQ(decoded.image.height, size[0].as_int());
  EXPECT_EQ(decoded.image.width, size[1].as_int());
  EXPECT_EQ(pixel_hash(decoded.image), expected.find("decoded_rgb_sha256")->as_string());
  EXPECT_EQ(decoded.report.orientation, number_or(expected, "orientation", 1));
  EXPECT_EQ(decoded.report.frames_ignored, number_or(expected, "frames_ignored", 0));
  if (const io::Json* alpha = expected.find("had_alpha")) {
    EXPECT_EQ(decoded.report.had_alpha, alpha->as_bool());
  }
  EXPECT_EQ(static_cast<std::int64_t>(decoded.report.warnings.size()),
            number_or(expected, "warnings", 0));
}

void check_refused(const io::Json& expected, const std::string& file) {
  try {
    decode_file(case_path(file));
    ADD_FAILURE() << "decoded; expected " << expected.find("error")->as_string();
  } catch (const Error& error) {
    EXPECT_EQ(code_name(error.code()), expected.find("error")->as_string()) << error.what();
    const std::string message = error.what();
    EXPECT_NE(message.find(file), std::string::npos) << message;
    for (const io::Json& part : expected.find("parts")->as_array()) {
      EXPECT_NE(message.find(part.as_string()), std::string::npos) << message;
    }
  }
}

TEST(ImageCases, EveryFileDecodesOrIsRefusedAsStated) {
  const io::Json index = io::read_json_file(case_path("index.json"));
  ASSERT_GT(index.as_array().size(), 100U);
  for (const io::Json& expected : index.as_array()) {
    const std::string file = expected.find("file")->as_string();
    SCOPED_TRACE(file);
    if (expected.find("error") != nullptr) {
      check_refused(expected, file);
    } else {
      check_decoded(expected, file);
    }
  }
}

// Phone photos must not reach the model sideways: the grid shows it where the token count cannot.
TEST(ImageCases, OrientationTurnsTheGrid) {
  const ProcessorConfig config = published_config();
  for (const char* file : {"orient-6-ii.jpg", "orient-6-mm.png", "orient-6-ii.webp"}) {
    const Picture picture = prepare_picture(decode_file(case_path(file)).image, config, file);
    EXPECT_EQ(picture.grid, (Grid{1, 20, 14})) << file;
    EXPECT_EQ(picture.tokens, 70);
  }
}

// Colours hidden under alpha 0 must not matter when compositing; when alpha is dropped they do, and
// that is reported.
TEST(ImageCases, HiddenColoursMatterOnlyWhenAlphaIsDropped) {
  const auto read = [](const char* file, Alpha alpha) {
    return decode_file(case_path(file), {.alpha = alpha});
  };
  const Decoded white = read("alpha-hidden-noise.png", Alpha::white);
  EXPECT_EQ(white.image, read("alpha-hidden-black.png", Alpha::white).image);
  EXPECT_EQ(white.image, read("alpha-hidden-noise.webp", Alpha::white).image);
  EXPECT_TRUE(white.report.warnings.empty());

  const Decoded noise = read("alpha-hidden-noise.png", Alpha::drop);
  const Decoded black = read("alpha-hidden-black.png", Alpha::drop);
  EXPECT_NE(noise.image, black.image);
  EXPECT_EQ(noise.image, read("alpha-hidden-noise.webp", Alpha::drop).image);
  ASSERT_EQ(noise.report.warnings.size(), 1U);
  EXPECT_NE(noise.report.warnings[0].find("transparent"), std::string::npos);
  EXPECT_TRUE(black.report.warnings.empty());
}

// Peak resident memory in KiB, after asking the kernel to forget the peak so far.
class PeakMemory {
 public:
  static bool reset() {
    std::ofstream file("/proc/self/clear_refs");
    file << "5" << std::flush;
    return file.good();
  }
  static std::int64_t kib() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
    }
    return 0;
  }
};

// A few hundred bytes must not cost the memory of the picture that they declare, whether the
// declaration is beyond the limit or below it.
TEST(ImageCases, BombsCostNoMemory) {
  const io::Json index = io::read_json_file(case_path("index.json"));
  constexpr std::int64_t kAllowedKib = 64 * 1024;
  for (const io::Json& expected : index.as_array()) {
    const std::string file = expected.find("file")->as_string();
    if (!file.starts_with("bomb") && !file.starts_with("short")) continue;
    if (!PeakMemory::reset()) GTEST_SKIP() << "the peak cannot be reset here";
    const std::int64_t before = PeakMemory::kib();
    check_refused(expected, file);
    EXPECT_LT(PeakMemory::kib() - before, kAllowedKib) << file;
  }
}

}  // namespace
}  // namespace sightline::image
