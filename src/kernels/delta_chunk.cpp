// The gated delta rule in chunks (specification 7.4): per value head and chunk, small dense
// products and one forward substitution. With R = beta∘(V − e^G∘(K S)), the corrected values are Vn
// = A⁻¹ R, so that A is solved against once. Only differences of the cumulative decays are
// exponentiated, and none of them is positive.
#include <algorithm>
#include <cmath>

#include "kernels/delta_rule.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

// e^-120 is zero in float32. A decay below it means the same, and would drown the sums of the
// others.
constexpr float kForgotten = -120;
constexpr std::int64_t kBand = 16;  // rows that are solved or combined together

/// One worker's scratch; n <= kDeltaChunk rows of it are in use.
struct Scratch {
  double* sums;    ///< G: cumulative decay
  float* q;        ///< [64][padded Dk], later the decayed keys
  float* k;        ///< [64][padded Dk]
  float* inner;    ///< [64][64]: (Q Kᵀ)∘D, zero above the diagonal
  float* solve;    ///< [64][64]: −beta·(K Kᵀ)∘D below the diagonal
  float* values;   ///< [64][Dv]: R, then Vn
  float* growth;   ///< [64]: e^G
  float* factors;  ///< [64]: one row of D

  static std::int64_t floats(std::int64_t padded, std::int64_t value_dim) {
    return kDeltaChunk * (2 + 2 * padded + 2 * kDeltaChunk + round_up(value_dim, 16) + 2);
  }
  Scratch(float* base, std::int64_t padded, std::int64_t value_dim) {
    const auto take = [&](std::int64_t per_row) {
      float* part = base;
      base += kDeltaChunk * per_row;
      return part;
    };
    sums = reinterpret_cast<double*>(take(2));  // first, so aligned as the arena aligns
    q = take(padded);
    k = take(padded);
    inner = take(kDeltaChunk);
    solve = take(kDeltaChunk);
    values = take(round_up(value_dim, 16));
    growth = take(1);
    factors = take(1);
  }
};

struct Head {
  const Kernels& kernels;
  const DeltaShape& shape;
  const DeltaOperands& in;
  std::int64_t index;
  std::int64_t padded;  ///< key_dim rounded up to the lanes
  float* state;         ///< [Dk][Dv]
  View out;             ///< (T, Dv): this head's columns
};

/// Normalised queries and keys of rows [first, first + n), padded with zeros, and the cumulative
/// decay.
void load_chunk(const Head& h, const Scratch& s, std::int64_t first, std::int64_t n) {
  const std::int64_t dim = h.shape.key_dim;
  const std::int64_t column = h.index / (h.shape.value_heads / h.shape.key_heads) * dim;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    float* q = s.q + i * h.padded;
    float* k = s.k + i * h.padded;
    h.kernels.l2_norm(h.in.q.row(first + i) + column, dim, scale, q);
    h.kernels.l2_norm(h.in.k.row(first + i) + column, dim, 1.0F, k);
    std::fill(q + dim, q + h.padded, 0.0F);
    std::fill(k + dim, k + h.padded, 0.0F);
    sum += static_cast<double>(std::max(h.in.decay.row(first + i)[h.index], kForgotten));
    s.sums[i] = sum;
    s.growth[i] = static_cast<float>(std::exp(sum));
  }
}

/// c[i, j] = a_i · k_j, [64][64].
void products_with_keys(const Head& h, const Scratch& s, const float* a, std::int64_t n, float* c) {
  for (std::int64_t d = 0; d < h.padded; d += kDotStep) {
    h.kernels.dot_panel({a + d, h.padded, n, s.k + d, h.padded, n, c, kDeltaChunk,
                         std::min(kDotStep, h.padded - d), d > 0});
  }
}

/// The two triangular matrices of the chunk.
void triangles(const Head& h, const Scratch& s, std::int64_t first, std::int64_t n) {
  products_with_keys(h, s, s.q, n, s.inner);
  products_with_keys(h, s, s.k, n, s.solve);
  for (std::int64_t i = 0; i < n; ++i) {
    h.kernels.decay_row(s.sums[i], s.sums, i + 1, s.factors);
    const float beta = h.in.beta.row(first + i)[h.index];
    float* inner = s.inner + i * kDeltaChunk;
    float* solve = s.solve + i * kDeltaChunk;
    for (std::int64_t j = 0; j <= i; ++j) {
      inner[j] *= s.factors[j];
      solve[j] *= -beta * s.factors[j];
    }
    std::fill(inner + i + 1, inner + kDeltaChunk, 0.0F);
  }
}

/// values = beta∘(V − e^G∘(K S)), then A⁻¹ of it by forward substitution in bands.
void corrected_values(const Head& h, const Scratch& s, std::int64_t first, std::int64_t n) {
  const std::int64_t dv = h.shape.value_dim;
  h.kernels.mix_panel(
      {s.k, h.padded, 1, n, h.state, dv, dv, s.values, dv, h.shape.key_dim, nullptr, 0});
  for (std::int64_t i = 0; i < n; ++i) {
    const float* v = h.in.v.row(first + i) + h.index * dv;
    const float beta = h.in.beta.row(first + i)[h.index];
    float* line = s.values + i * dv;
    for (std::int64_t d = 0; d < dv; ++d) line[d] = beta * (v[d] - s.growth[i] * line[d]);
  }
  for (std::int64_t band = 0; band < n; band += kBand) {
    const std::int64_t end = std::min(n, band + kBand);
    const float* rows = s.solve + band * kDeltaChunk;
    h.kernels.mix_panel({rows, kDeltaChunk, 1, end - band, s.values, dv, dv, s.values + band * dv,
                         dv, band, nullptr, 1});
    for (std::int64_t i = band + 1; i < end; ++i) {
      h.kernels.mix_panel({s.solve + i * kDeltaChunk + band, kDeltaChunk, 1, 1,
                           s.values + band * dv, dv, dv, s.values + i * dv, dv, i - band, nullptr,
                           1});
    }
  }
}

/// out = e^G∘(Q S) + inner · Vn
void outputs(const Head& h, const Scratch& s, std::int64_t first, std::int64_t n) {
  const std::int64_t dv = h.shape.value_dim;
  h.kernels.mix_panel({s.q, h.padded, 1, n, h.state, dv, dv, h.out.row(first), h.out.stride,
                       h.shape.key_dim, nullptr, 0});
  for (std::int64_t band = 0; band < n; band += kBand) {
    const std::int64_t end = std::min(n, band + kBand);
    h.kernels.mix_panel({s.inner + band * kDeltaChunk, kDeltaChunk, 1, end - band, s.values, dv, dv,
                         h.out.row(first + band), h.out.stride, end, s.growth + band, 0});
  }
}

/// S <- e^{G_last} S + (e^{G_last − G}∘K)ᵀ Vn
void advance_state(const Head& h, const Scratch& s, std::int64_t n) {
  const std::int64_t dv = h.shape.value_dim;
  h.kernels.decay_row(s.sums[n - 1], s.sums, n, s.factors);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t d = 0; d < h.shape.key_dim; ++d) {
      s.q[i * h.padded + d] = s.k[i * h.padded + d] * s.factors[i];
    }
  }
  h.kernels.mix_panel({s.q, 1, h.padded, h.shape.key_dim, s.values, dv, dv, h.state, dv, n, nullptr,
                       s.growth[n - 1]});
}

/// Per chunk of n rows and value head: key and query products with the keys (4 n² Dk), reading the
/// state twice and advancing it (6 n Dk Dv), the triangular solution and the inner part of the
/// outputs (2 n² Dv).
Work chunked_work(const DeltaShape& shape, std::int64_t first_position, std::int64_t rows) {
  std::int64_t flops = 0;
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t n = std::min(rows - row, kDeltaChunk - (first_position + row) % kDeltaChunk);
    flops += 4 * n * n * shape.key_dim + 6 * n * shape.key_dim * shape.value_dim +
             2 * n * n * shape.value_dim;
    row += n;
  }
  return {shape.value_heads * flops, 0, delta_bytes(shape, rows)};
}

}  // namespace

void delta_rule_chunked(Compute& compute, const DeltaShape& shape, const DeltaOperands& in,
                        std::int64_t first_position, float* state, View out) {
  const ArenaScope scope(compute.arena);
  const std::int64_t padded = round_up(shape.key_dim, compute.kernels.lanes);
  const std::int64_t floats = Scratch::floats(padded, shape.value_dim);
  float* memory = compute.arena.array<float>(compute.threads.count() * floats);
  if (compute.count(chunked_work(shape, first_position, in.q.rows))) return;
  compute.threads.for_blocks(shape.value_heads, [&](std::int64_t index, int worker) {
    const Scratch s(memory + worker * floats, padded, shape.value_dim);
    const Head head{compute.kernels,
                    shape,
                    in,
                    index,
                    padded,
                    state + index * shape.key_dim * shape.value_dim,
                    out.slice_cols(index * shape.value_dim, shape.value_dim)};
    for (std::int64_t row = 0; row < in.q.rows;) {
      const std::int64_t to_boundary = kDeltaChunk - (first_position + row) % kDeltaChunk;
      const std::int64_t n = std::min(to_boundary, in.q.rows - row);
      load_chunk(head, s, row, n);
      triangles(head, s, row, n);
      corrected_values(head, s, row, n);
      outputs(head, s, row, n);
      advance_state(head, s, n);
      row += n;
    }
  });
}

}  // namespace sightline::kernels
