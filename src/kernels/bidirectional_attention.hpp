// Attention of a picture's rows among themselves: every row sees every row, nothing is cached.
#pragma once

#include "kernels/compute.hpp"
#include "sightline/tensor.hpp"

namespace sightline::kernels {

/// out[r, h] = Σ_p softmax_p(scale · q[r, h]·k[p, h]) v[p, h] over all rows p, for every head h.
/// q, k, v and out are (rows, heads · head_dim) and may be strided; out must not overlap q, k or v.
/// Positions are visited in blocks of kKvBlock in ascending order for every row, so a row's bits
/// depend neither on the rows computed with it nor on threads. Keys and values are copied once into
/// panels (2 · rows · heads · head_dim values of scratch, padded). With Precision::bf16 and a
/// kernel set that multiplies bfloat16, q, k, v and the weights of the softmax are rounded to it.
/// Stops early, leaving out unspecified, when compute.cancelled(). Throws Error(memory_limit)
/// without scratch memory. HF: eager_attention_forward of the vision tower, without its table of
/// all scores.
void bidirectional_attention(Compute& compute, std::int64_t heads, float scale, ConstView q,
                             ConstView k, ConstView v, View out);

}  // namespace sightline::kernels
