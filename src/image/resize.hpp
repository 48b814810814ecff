// The resize of the reference: bicubic with antialias on 8-bit RGB, bit for bit. Memory stays at a
// few rows besides the result. Pure, no dependency beyond the standard library.
#pragma once

#include <cstdint>

#include "image/image.hpp"

namespace sightline::image {

/// The picture resized to height x width (both at least 1); returned unchanged if it has that size.
/// Two passes, horizontal first, 16-bit fixed-point weights, rounding to 8 bits between them, a
/// pass without change skipped. Equal on every byte to torchvision's resize of uint8 on the CPU.
/// Source: specification section 2.3.
Image resized(Image image, std::int64_t height, std::int64_t width);

}  // namespace sightline::image
