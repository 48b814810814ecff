// Fuzz target of image/webp.cpp: any bytes are a whole picture, or an Error.
#include "image_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sightline::image::fuzz_format(sightline::image::Format::webp, data, size);
}
