// A progressive JPEG may ask for any number of passes over all its pixels: beyond a limit it is
// refused.
#include <gtest/gtest.h>

#include <cstdio>  // jpeglib.h needs FILE
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

#include "image/decode.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

// An 8x8 picture whose coefficients are sent one a scan: 1 + 3 * `coefficients` scans.
std::string jpeg_with_many_scans(int coefficients) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = info.image_height = 8;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  std::vector<jpeg_scan_info> scans{{3, {0, 1, 2, 0}, 0, 0, 0, 0}};
  for (int coefficient = 1; coefficient <= coefficients; ++coefficient) {
    for (int component = 0; component < 3; ++component) {
      scans.push_back({1, {component, 0, 0, 0}, coefficient, coefficient, 0, 0});
    }
  }
  info.scan_info = scans.data();
  info.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&info, TRUE);
  std::vector<JSAMPLE> row(24, 100);
  JSAMPROW pointer = row.data();
  while (info.next_scanline < 8) jpeg_write_scanlines(&info, &pointer, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return file;
}

TEST(JpegLimits, ScansAreCounted) {
  EXPECT_EQ(decode(jpeg_with_many_scans(20), "few.jpg").image.width, 8);
  expect_error(Code::unsupported_image_format, {"many.jpg", "more than 100 scans"},
               [] { decode(jpeg_with_many_scans(60), "many.jpg"); });
}

}  // namespace
}  // namespace sightline::image
