// The gated delta rule, token by token: normalised keys and queries first, then every head's state
// in column blocks: where it lies for one token, in copies that stay in the first-level cache for
// more. The chunked form is in delta_chunk.cpp.
#include "kernels/delta_rule.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

/// y: l2norm of every key head of every row, dense (T, Hk · Dk).
void normalise(Compute& compute, const DeltaShape& shape, ConstView x, float scale, View y) {
  for_row_blocks(compute, x.rows, x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < x.cols; c += shape.key_dim) {
        compute.kernels.l2_norm(x.row(r) + c, shape.key_dim, scale, y.row(r) + c);
      }
    }
  });
}

/// Columns [column, column + columns) of one value head's state.
struct Columns {
  std::int64_t head = 0, column = 0, columns = 0;
  float* state = nullptr;  ///< of the first of these columns
};

void copy_state(const DeltaShape& shape, const Columns& c, float* block, bool store) {
  for (std::int64_t k = 0; k < shape.key_dim; ++k) {
    float* row = c.state + k * shape.value_dim;
    float* line = block + k * kDeltaColumns;
    if (store) {
      std::copy(line, line + c.columns, row);
    } else {
      std::copy(row, row + c.columns, line);
      std::fill(line + c.columns, line + kDeltaColumns, 0.0F);
    }
  }
}

/// All tokens with the state of some columns, its rows `stride` apart.
void run_columns(const Kernels& kernels, const DeltaShape& shape, const DeltaOperands& in,
                 const Columns& c, float* block, std::int64_t stride, View out) {
  const std::int64_t key = c.head / (shape.value_heads / shape.key_heads) * shape.key_dim;
  const std::int64_t value = c.head * shape.value_dim + c.column;
  float v[kDeltaColumns] = {};
  float o[kDeltaColumns];
  for (std::int64_t t = 0; t < in.q.rows; ++t) {
    std::copy(in.v.row(t) + value, in.v.row(t) + value + c.columns, v);
    kernels.delta_step({block, stride, shape.key_dim, in.q.row(t) + key, in.k.row(t) + key, v,
                        std::exp(in.decay.row(t)[c.head]), in.beta.row(t)[c.head], o});
    std::copy(o, o + c.columns, out.row(t) + value);
  }
}

/// Asks for the state of a head, which is longer than a first-level cache and much shorter than a
/// second one: read column block by column block, it would come line by line.
void ask_for(const DeltaShape& shape, const float* state) {
  constexpr std::int64_t kLine = 64 / dtype_size(DType::f32);
  constexpr int kSecondLevel = 2;
  for (std::int64_t i = 0; i < shape.key_dim * shape.value_dim; i += kLine)
    __builtin_prefetch(state + i, 1, kSecondLevel);
}

/// One token of one head, in place.
void run_head(const Kernels& kernels, const DeltaShape& shape, const DeltaOperands& in,
              std::int64_t head, float* state, View out) {
  ask_for(shape, state);
  for (std::int64_t column = 0; column < shape.value_dim; column += kDeltaColumns) {
    const Columns c{head, column, kDeltaColumns, state + column};
    run_columns(kernels, shape, in, c, c.state, shape.value_dim, out);
  }
}

/// Decay, read, correct, read again: 7 operations per element of the state and token.
Work recurrent_work(const DeltaShape& shape, std::int64_t rows) {
  const std::int64_t state = shape.value_heads * shape.key_dim * shape.value_dim;
  return {7 * rows * state, 0, delta_bytes(shape, rows)};
}

}  // namespace

std::int64_t delta_bytes(const DeltaShape& shape, std::int64_t rows) {
  const std::int64_t state = shape.value_heads * shape.key_dim * shape.value_dim;
  const std::int64_t row = 2 * shape.key_heads * shape.key_dim +
                           2 * shape.value_heads * shape.value_dim + 2 * shape.value_heads;
  return (2 * state + rows * row) * dtype_size(DType::f32);
}

void delta_rule_recurrent(Compute& compute, const DeltaShape& shape, const DeltaOperands& in,
                          float* state, bool write_state, View out) {
  const ArenaScope scope(compute.arena);
  const View q = compute.arena.matrix(in.q.rows, in.q.cols);
  const View k = compute.arena.matrix(in.k.rows, in.k.cols);
  const std::int64_t floats = shape.key_dim * kDeltaColumns;
  float* memory = compute.arena.array<float>(compute.threads.count() * floats);
  if (compute.count(recurrent_work(shape, in.q.rows))) return;
  normalise(compute, shape, in.q, 1.0F / std::sqrt(static_cast<float>(shape.key_dim)), q);
  normalise(compute, shape, in.k, 1.0F, k);
  DeltaOperands normed = in;
  normed.q = q;
  normed.k = k;
  if (in.q.rows == 1 && write_state && shape.value_dim % kDeltaColumns == 0) {
    return compute.threads.for_blocks(shape.value_heads, [&](std::int64_t head, int) {
      run_head(compute.kernels, shape, normed, head, state + head * shape.key_dim * shape.value_dim,
               out);
    });
  }
  const std::int64_t per_head = (shape.value_dim + kDeltaColumns - 1) / kDeltaColumns;
  compute.threads.for_blocks(shape.value_heads * per_head, [&](std::int64_t block, int worker) {
    Columns c;
    c.head = block / per_head;
    c.column = block % per_head * kDeltaColumns;
    c.columns = std::min(kDeltaColumns, shape.value_dim - c.column);
    c.state = state + c.head * shape.key_dim * shape.value_dim + c.column;
    float* mine = memory + worker * floats;
    copy_state(shape, c, mine, false);
    run_columns(compute.kernels, shape, normed, c, mine, kDeltaColumns, out);
    if (write_state) copy_state(shape, c, mine, true);
  });
}

namespace {

constexpr std::int64_t kConvColumns = 256;  // channels of a task

struct Convolution {
  const Kernels& kernels;
  ConstView u;
  const float* weight;
  std::int64_t width;
  ConstView state;
  View y;
};

void convolve(const Convolution& conv, std::int64_t first, std::int64_t count, float* taps,
              const float** rows) {
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t j = 0; j < conv.width; ++j) {
      taps[j * kConvColumns + c] = conv.weight[(first + c) * conv.width + j];
    }
  }
  for (std::int64_t t = 0; t < conv.u.rows; ++t) {
    for (std::int64_t j = 0; j < conv.width; ++j) {
      const std::int64_t row = t - (conv.width - 1) + j;
      rows[j] = (row < 0 ? conv.state.row(conv.width - 1 + row) : conv.u.row(row)) + first;
    }
    conv.kernels.conv_silu(rows, taps, kConvColumns, conv.width, count, conv.y.row(t) + first);
  }
}

/// The last width − 1 rows of what was there and u, oldest first.
void shift_state(ConstView u, View state) {
  for (std::int64_t j = 0; j < state.rows; ++j) {
    const std::int64_t row = u.rows - state.rows + j;
    const float* source = row < 0 ? state.row(state.rows + row) : u.row(row);
    std::copy(source, source + u.cols, state.row(j));
  }
}

}  // namespace

void causal_conv_silu(Compute& compute, ConstView u, const float* weight, std::int64_t width,
                      View state, bool write_state, View y) {
  constexpr std::int64_t kSilu = 4;
  const std::int64_t values = u.rows * u.cols;
  const ArenaScope scope(compute.arena);
  const Convolution conv{compute.kernels, u, weight, width, state, y};
  const int workers = compute.threads.count();
  float* taps = compute.arena.array<float>(workers * width * kConvColumns);
  const float** rows = compute.arena.array<const float*>(workers * width);
  if (compute.count({values * (2 * width + kSilu), 0, 2 * values * dtype_size(DType::f32)})) return;
  const auto run = [&](std::int64_t block, int worker) {
    const std::int64_t first = block * kConvColumns;
    convolve(conv, first, std::min(kConvColumns, u.cols - first),
             taps + worker * width * kConvColumns, rows + worker * width);
  };
  const std::int64_t blocks = (u.cols + kConvColumns - 1) / kConvColumns;
  if (u.rows * u.cols <= kValuesPerBlock) {
    for (std::int64_t block = 0; block < blocks; ++block) run(block, 0);
  } else {
    compute.threads.for_blocks(blocks, run);
  }
  if (write_state) shift_state(u, state);
}

void delta_gates(Compute& compute, ConstView a, ConstView b, const float* a_log,
                 const float* dt_bias, View decay, View beta) noexcept {
  constexpr std::int64_t kOperations = 10;  // softplus, two exponentials, sigmoid
  const std::int64_t values = a.rows * a.cols;
  if (compute.count({kOperations * values, 0, 4 * values * dtype_size(DType::f32)})) return;
  constexpr float kLinear = 20;  // from here on softplus(x) = x; specification 7.4
  for_row_blocks(compute, a.rows, a.cols * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t h = 0; h < a.cols; ++h) {
        const float x = a.row(r)[h] + dt_bias[h];
        const float softplus = x > kLinear ? x : std::log1p(std::exp(x));
        decay.row(r)[h] = -std::exp(a_log[h]) * softplus;
        beta.row(r)[h] = 1.0F / (1.0F + std::exp(-b.row(r)[h]));
      }
    }
  });
}

}  // namespace sightline::kernels
