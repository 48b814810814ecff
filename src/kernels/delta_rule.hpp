// The gated delta rule (specification 7.4) in its recurrent and its chunked form, and the causal
// convolution before it. Letters: T rows (tokens), Hk key heads, Hv value heads, Dk and Dv their
// widths; value head j uses key head j div (Hv/Hk). Functions that are not noexcept throw
// Error(memory_limit) when there is no scratch memory.
#pragma once

#include <cstdint>

#include "base/mat.hpp"
#include "kernels/compute.hpp"

namespace sightline::kernels {

/// Rows per chunk; chunks start at absolute multiples of it.
inline constexpr std::int64_t kDeltaChunk = 64;

struct DeltaShape {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
};

/// Operands of both forms, before normalisation: the kernel applies l2norm to q and k (eps 1e-6
/// inside the root) and the scale Dk^(-1/2) to q.
struct DeltaOperands {
  ConstView q, k;   ///< (T, Hk · Dk)
  ConstView v;      ///< (T, Hv · Dv)
  ConstView beta;   ///< (T, Hv), already sigmoid
  ConstView decay;  ///< (T, Hv): g <= 0, the logarithm of the decay
};

/// Bytes of both forms, as counted: the state is read and written, the operands pass once.
std::int64_t delta_bytes(const DeltaShape& shape, std::int64_t rows);

/// Token by token. state [Hv][Dk][Dv] float32 is read and, if `write_state`, updated; out (T, Hv ·
/// Dv). k rows in one call give the bits of k calls of one row.
void delta_rule_recurrent(Compute& compute, const DeltaShape& shape, const DeltaOperands& in,
                          float* state, bool write_state, View out);

/// In chunks that end at absolute multiples of kDeltaChunk; `first_position` is the absolute
/// position of row 0. Cutting a prompt at multiples of kDeltaChunk changes no bit.
void delta_rule_chunked(Compute& compute, const DeltaShape& shape, const DeltaOperands& in,
                        std::int64_t first_position, float* state, View out);

/// Causal depthwise convolution over rows, then SiLU: y[t, c] = silu(Σ_j w[c, j] · u[t − (width−1)
/// + j, c]). u and y (T, C), must not overlap; weight [C][width]; state (width − 1, C): the rows
/// before u[0], oldest first, updated to the last width − 1 rows if `write_state`. Rows give the
/// same bits one at a time or together.
void causal_conv_silu(Compute& compute, ConstView u, const float* weight, std::int64_t width,
                      View state, bool write_state, View y);

/// g = −exp(A_log) · softplus(a + dt_bias) and beta = sigmoid(b); a, b, beta, decay (T, Hv).
void delta_gates(Compute& compute, ConstView a, ConstView b, const float* a_log,
                 const float* dt_bias, View decay, View beta) noexcept;

}  // namespace sightline::kernels
