// Turns a stored picture upright by its EXIF orientation. No dependency.
#pragma once

#include "image/image.hpp"

namespace sightline::image {

/// The upright picture. Orientation 1..8 as in EXIF: 1 none, 2 mirrored left-right, 3 turned by 180
/// degrees, 4 mirrored top-bottom, 5 transposed, 6 turned clockwise, 7 transposed along the other
/// diagonal, 8 turned counter-clockwise. Any other value leaves the picture as it is. Height and
/// width change places for 5..8.
Image oriented(Image image, int orientation);

}  // namespace sightline::image
