// The size rules of the processors under the names that this layer uses. The one implementation is
// calc/sizes.hpp, which the calculator shares.
#pragma once

#include "calc/sizes.hpp"

namespace sightline::image {

using calc::ClipRule;
using calc::Grid;
using calc::grid_of;
using calc::image_target_size;
using calc::kMaxAspectRatio;
using calc::round_half_even;
using calc::SizeRule;
using calc::SizeStatus;
using calc::TargetSize;
using calc::video_target_size;

}  // namespace sightline::image
