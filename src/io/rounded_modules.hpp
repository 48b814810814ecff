// Which matrices of a checkpoint are rounded to 8 or 4 bits: one rule, by name and shape, for
// `sightline quantize` and for rounding while loading. Knows no model types.
#pragma once

#include <string_view>

#include "sightline/tensor.hpp"

namespace sightline::io {

/// True for the matrix of a large linear module of the language model's layers, stored on its own:
/// attention, Gated DeltaNet and feed-forward projections, experts and shared experts; of at least
/// kLeastRoundedOutputs outputs, and with inputs that whole groups of rounding_for() cover. False
/// for everything else: the vision tower, embedding and head, norms, convolutions, the projections
/// of a few outputs on which a recurrence or a choice of experts hangs (in_proj_a, in_proj_b, the
/// router, shared_expert_gate), experts stored as one tensor, and mtp.*.
bool is_rounded(std::string_view tensor_name, const Shape& shape);

/// Smaller matrices are not worth their error.
inline constexpr std::int64_t kLeastRoundedOutputs = 64;

}  // namespace sightline::io
