// The orientation of a picture out of its EXIF or XMP block. Reads nothing else of them. No
// dependency.
#pragma once

#include <string_view>

namespace sightline::image {

/// Orientation 1..8 (tag 0x0112 of the first directory) of an EXIF block in either byte order, with
/// or without the leading "Exif\0\0"; 0 if there is none or it makes no sense. Never fails: broken
/// metadata does not spoil a picture.
int exif_orientation(std::string_view block) noexcept;

/// Orientation 1..8 of an XMP packet (tiff:Orientation as attribute or element), else 0.
int xmp_orientation(std::string_view packet) noexcept;

}  // namespace sightline::image
