// The one formula for transparency. No dependency.
#pragma once

#include <cstdint>

namespace sightline::image {

/// One 8-bit sample of a colour with this alpha, put onto white. Source: specification section 2.1
/// (equal to Pillow for all 65,536 pairs).
inline std::uint8_t onto_white(std::uint32_t sample, std::uint32_t alpha) noexcept {
  return static_cast<std::uint8_t>((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace sightline::image
