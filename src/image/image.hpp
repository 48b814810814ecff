// Plain picture values shared by the whole layer: 8-bit RGB pixels and what happens to
// transparency. Value types without behaviour; no dependency.
#pragma once

#include <cstdint>
#include <vector>

namespace sightline::image {

/// A picture: rgb holds height * width * 3 bytes, rows from the top, no padding.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;

  friend bool operator==(const Image& a, const Image& b) = default;
};

/// What becomes of transparency. white: composited onto white (the default of the reference for
/// picture objects); drop: colours kept, alpha ignored (the reference for paths). Source:
/// specification section 2.1.
enum class Alpha : std::uint8_t { white, drop };

}  // namespace sightline::image
