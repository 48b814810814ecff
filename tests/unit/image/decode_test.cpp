// What the decoder refuses and how it says so: foreign formats, empty and cut files, sizes beyond
// the limit.
#include "image/decode.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "image/sniff.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

std::string read_image(const std::string& file) {
  return io::read_file(data_path("images/" + file));
}

TEST(Decode, NamesForeignFormatsAndTheAcceptedOnes) {
  struct Foreign {
    std::string_view bytes, name;
  };
  for (
      const Foreign& foreign : {
          Foreign{"\0\0\0\x1C"
                  "ftypavif\0\0\0\0mif1avifmiaf"sv,
                  "AVIF"},
          Foreign{"\0\0\0\x18"
                  "ftypheic\0\0\0\0mif1heic"sv,
                  "HEIC"},
          Foreign{"\0\0\0\x18"
                  "ftypisom\0\0\2\0isomiso2"sv,
                  "video"},
          Foreign{
              "<?xml version=\"1.0\"?>\n<!-- logo -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"sv,
              "SVG"},
          Foreign{"\xEF\xBB\xBF  <svg/>"sv, "SVG"},
          Foreign{"<!DOCTYPE html><html></html>"sv, "HTML"},
          Foreign{"%PDF-1.7\n"sv, "PDF"},
          Foreign{"\xFF\x0A\xFA\x1F"sv, "JPEG XL"},
          Foreign{"\0\0\0\x0CJXL \r\n\x87\n"sv, "JPEG XL"},
          Foreign{"\0\0\0\x0CjP  \r\n\x87\n"sv, "JPEG 2000"},
          Foreign{"\0\0\1\0\1\0"sv, "ICO"},
          Foreign{"8BPS\0\1"sv, "PSD"},
          Foreign{"P6\n2 2\n255\n"sv, "PNM"},
          Foreign{"version https://git-lfs.github.com/spec/v1\n"sv, "Git LFS"},
          Foreign{"data:image/png;base64,iVBOR"sv, "data URL"},
          Foreign{"hello, world, this is text"sv, "no known picture format"},
          Foreign{"BMW is a maker of cars and"sv, "no known picture format"},
          Foreign{"x"sv, "no known picture format"},
      }) {
    expect_error(Code::unsupported_image_format,
                 {"a.jpg", foreign.name, "PNG, JPEG, WebP, GIF, TIFF or BMP"},
                 [&] { decode(foreign.bytes, "a.jpg"); });
  }
}

TEST(Decode, EmptyAndMissingFiles) {
  expect_error(Code::invalid_image, {"message 2", "0 bytes"}, [] { decode("", "message 2"); });
  expect_error(Code::file_not_found, {"no-such-file.png"},
               [] { decode_file(data_path("images/no-such-file.png")); });
}

// A file cut anywhere is refused: never half a picture. Where only padding or an end mark is cut
// off, the pixels must be those of the whole file.
TEST(Decode, EveryPrefixIsRefusedOrWhole) {
  constexpr std::size_t kGifBlocks = 6;  // blocks after the first frame of animated.gif
  for (const char* file :
       {"red-64.png", "exif-3.jpg", "lossless.webp", "lossy.webp", "animated.gif", "rgb.tiff",
        "rgb.bmp", "gray16.png", "flower-prog.jpg"}) {
    const std::string whole = read_image(file);
    const Image expected = decode(whole, file).image;
    const std::size_t step = whole.size() > 4000 ? 37 : 1;
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < whole.size(); size += step) {
      try {
        EXPECT_EQ(decode(std::string_view(whole).substr(0, size), file).image, expected)
            << file << " " << size;
        ++accepted;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == Code::invalid_image ||
                    (size < 20 && error.code() == Code::unsupported_image_format))
            << error.what();
      }
    }
    EXPECT_LE(accepted, std::string_view(file).ends_with(".gif") ? kGifBlocks : 3U) << file;
  }
}

TEST(Decode, DamageNamesFileFormatAndTheCodecsReason) {
  const std::string png = read_image("red-64.png");
  expect_error(Code::invalid_image, {"cat.png", "PNG", "end of file"},
               [&] { decode(std::string_view(png).substr(0, png.size() - 10), "cat.png"); });
  std::string damaged = png;
  damaged[damaged.size() - 30] ^= 0x20;
  expect_error(Code::invalid_image, {"cat.png", "CRC"}, [&] { decode(damaged, "cat.png"); });
  const std::string jpeg = read_image("gray.jpg");
  expect_error(Code::invalid_image, {"dog.jpg", "JPEG", "Premature end"},
               [&] { decode(std::string_view(jpeg).substr(0, jpeg.size() / 2), "dog.jpg"); });
}

TEST(Decode, TheLimitCountsPixelsAndCanBeRaised) {
  const std::string png = read_image("red-64.png");
  expect_error(Code::image_too_large, {"x.png", "64x64", "4095", "--max-image-pixels"},
               [&] { decode(png, "x.png", {.max_pixels = 4095}); });
  EXPECT_EQ(decode(png, "x.png", {.max_pixels = 4096}).image.width, 64);
}

// A flag ends the decoding of every format; where the library hands over rows or scans, before the
// rest of the file is looked at: its damage is not found.
TEST(Decode, CanBeCancelled) {
  const std::atomic<bool> cancelled{true};
  const DecodeOptions options{.cancelled = &cancelled};
  for (const char* file : {"red-64.png", "gray.jpg", "flower-prog.jpg", "lossy.webp",
                           "animated.gif", "rgb.tiff", "rgb.bmp"})
    expect_error(Code::cancelled, {file}, [&] { decode(read_image(file), file, options); });
  for (const char* file : {"noise-200x300.png", "flower-q90.jpg", "flower-prog.jpg"}) {
    const std::string whole = read_image(file);
    const std::string_view half = std::string_view(whole).substr(0, whole.size() / 2);
    expect_error(Code::invalid_image, {file}, [&] { decode(half, file); });
    expect_error(Code::cancelled, {file}, [&] { decode(half, file, options); });
  }
}

TEST(Decode, ReportsTheFormat) {
  const auto format_of = [](const char* file) {
    return std::string(format_name(decode(read_image(file), file).report.format));
  };
  EXPECT_EQ(format_of("red-64.png"), "PNG");
  EXPECT_EQ(format_of("gray.jpg"), "JPEG");
  EXPECT_EQ(format_of("lossy.webp"), "WebP");
  EXPECT_EQ(format_of("animated.gif"), "GIF");
  EXPECT_EQ(format_of("rgb.tiff"), "TIFF");
  EXPECT_EQ(format_of("rgb.bmp"), "BMP");
}

}  // namespace
}  // namespace sightline::image
