// RGB pictures to PNG files, for people who want to see what the model sees.
#pragma once

#include <string>

#include "image/image.hpp"

namespace sightline::image {

/// The picture as a PNG file: 8-bit RGB, no metadata. Throws Error(internal) if libpng refuses,
/// which it does only for sides above 2^31 - 1 or 0, Error(memory_limit) without memory.
std::string encode_png(const Image& image);

/// Writes encode_png() to `path`. Throws also Error(file_unwritable).
void write_png(const Image& image, const std::string& path);

}  // namespace sightline::image
