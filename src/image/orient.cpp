// The eight orientations as one walk: where the first pixel comes from and two steps through the
// stored picture.
#include "image/orient.hpp"

#include <utility>

namespace sightline::image {
namespace {

// Pixel (y, x) of the result is stored pixel start + y * per_row + x * per_column.
struct Walk {
  std::int64_t height, width, start, per_row, per_column;
};

Walk make_walk(std::int64_t height, std::int64_t width, int orientation) {
  const std::int64_t right = width - 1, below = (height - 1) * width;
  switch (orientation) {
    case 2:
      return {height, width, right, width, -1};
    case 3:
      return {height, width, below + right, -width, -1};
    case 4:
      return {height, width, below, -width, 1};
    case 5:
      return {width, height, 0, 1, width};
    case 6:
      return {width, height, below, 1, -width};
    case 7:
      return {width, height, below + right, -1, -width};
    case 8:
      return {width, height, right, -1, width};
    default:
      return {height, width, 0, width, 1};
  }
}

}  // namespace

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  constexpr std::int64_t kTile =
      64;  // columns per strip: keeps both pictures in the cache when transposing
  const Walk walk = make_walk(image.height, image.width, orientation);
  Image upright{walk.width, walk.height, std::vector<std::uint8_t>(image.rgb.size())};
  for (std::int64_t left = 0; left < walk.width; left += kTile) {
    const std::int64_t right = left + kTile < walk.width ? left + kTile : walk.width;
    for (std::int64_t y = 0; y < walk.height; ++y) {
      std::uint8_t* out = upright.rgb.data() + (y * walk.width + left) * 3;
      for (std::int64_t x = left; x < right; ++x, out += 3) {
        const std::uint8_t* in =
            image.rgb.data() + (walk.start + y * walk.per_row + x * walk.per_column) * 3;
        out[0] = in[0], out[1] = in[1], out[2] = in[2];
      }
    }
  }
  return upright;
}

}  // namespace sightline::image
