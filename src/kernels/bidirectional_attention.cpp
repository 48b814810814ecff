// Written once over the kernel table. Keys are turned into panels whose lines run over positions,
// so that scores and weighted values are the same product and no sum runs across the lanes of a
// vector; queries go through in tasks of some rows of one head. In float32, or in pairs of bfloat16
// where activations may be rounded and the set multiplies such.
#include "kernels/bidirectional_attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/pair_mixes.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

// Query rows of a task: its queries, scores and outputs stay in the second-level cache with a block
// of keys and values. A multiple of the six rows of a register tile.
constexpr std::int64_t kTaskRows = 96;
static_assert(kTaskRows % 32 == 0, "or two workers' scratch would share a cache line");

struct Operands {
  const Kernels& kernels;
  std::int64_t heads, dim, blocks;
  float scale;
  ConstView q, k, v;
  View out;

  [[nodiscard]] std::int64_t positions(std::int64_t block) const {
    return std::min(kKvBlock, k.rows - block * kKvBlock);
  }
};

/// A task's scores, its outputs before they are divided, and what the softmax of its rows keeps.
struct Sums {
  float *scores, *out, *max, *sum, *keep;
};

/// Products in float32.
struct Floats {
  using Value = float;
  const Operands& o;

  /// Values of a query, of a position in both panels, and of a row of sums.
  static std::int64_t row_values(std::int64_t dim) { return dim; }
  static std::int64_t width(std::int64_t dim) { return dim; }

  void put_query(const float* q, float* out) const { std::copy(q, q + o.dim, out); }

  /// keys [dim][kKvBlock], zeros behind the last position; values [kKvBlock][dim].
  void pack(std::int64_t head, std::int64_t block, float* keys, float* values) const {
    const std::int64_t count = o.positions(block);
    if (count < kKvBlock) std::fill(keys, keys + o.dim * kKvBlock, 0.0F);
    for (std::int64_t p = 0; p < count; ++p) {
      const float* key = o.k.row(block * kKvBlock + p) + head * o.dim;
      for (std::int64_t d = 0; d < o.dim; ++d) keys[d * kKvBlock + p] = key[d];
      const float* value = o.v.row(block * kKvBlock + p) + head * o.dim;
      std::copy(value, value + o.dim, values + p * o.dim);
    }
  }
  void score(const float* q, std::int64_t rows, const float* keys, const Sums& s) const {
    o.kernels.mix_panel(
        {q, o.dim, 1, rows, keys, kKvBlock, kKvBlock, s.scores, kKvBlock, o.dim, nullptr, 0.0F});
  }
  /// What weigh() reads of a row's weights: they lie in its scores.
  void put_weights(const float*, float*) const {}
  void weigh(const float*, std::int64_t rows, std::int64_t count, const float* values,
             const Sums& s) const {
    o.kernels.mix_panel(
        {s.scores, kKvBlock, 1, rows, values, o.dim, o.dim, s.out, o.dim, count, s.keep, 0.0F});
  }
};

/// Products of pairs: queries, keys, values and weights are rounded to bfloat16, scores and sums
/// are float32.
struct Pairs {
  using Value = bf16;
  const Operands& o;

  static std::int64_t row_values(std::int64_t dim) { return tile_stride(dim); }
  static std::int64_t width(std::int64_t dim) { return round_up(dim, kPairColumns); }

  void put_query(const float* q, bf16* out) const { o.kernels.pair_mixes->round(q, o.dim, out); }

  /// keys [dim / 2][kKvBlock][2], values [kKvBlock / 2][width][2], zeros where nothing is.
  void pack(std::int64_t head, std::int64_t block, bf16* keys, bf16* values) const {
    const std::int64_t count = o.positions(block), wide = width(o.dim);
    if (count < kKvBlock) {
      std::fill(keys, keys + round_up(o.dim, 2) * kKvBlock, bf16{});
      std::fill(values, values + wide * kKvBlock, bf16{});
    }
    for (std::int64_t p = 0; p < count; ++p) {
      const float* key = o.k.row(block * kKvBlock + p) + head * o.dim;
      const float* value = o.v.row(block * kKvBlock + p) + head * o.dim;
      for (std::int64_t first = 0; first < o.dim; first += kTileDepth) {
        const std::int64_t n = std::min(kTileDepth, o.dim - first);
        bf16 rounded[kTileDepth];  // zeros behind n
        o.kernels.pair_mixes->round(key + first, n, rounded);
        for (std::int64_t d = 0; d < n; d += 2)
          std::copy(rounded + d, rounded + d + 2, keys + (first + d) * kKvBlock + 2 * p);
        o.kernels.pair_mixes->round(value + first, n, rounded);
        bf16* out = values + (p / 2 * wide + first) * 2 + p % 2;
        for (std::int64_t d = 0; d < std::min(kTileDepth, wide - first); ++d)
          out[2 * d] = rounded[d];
      }
    }
  }
  void score(const bf16* q, std::int64_t rows, const bf16* keys, const Sums& s) const {
    o.kernels.pair_mixes->mix({q, row_values(o.dim), rows, keys, kKvBlock, s.scores, kKvBlock,
                               round_up(o.dim, 2), nullptr});
  }
  void put_weights(const float* weights, bf16* out) const {
    o.kernels.pair_mixes->round(weights, kKvBlock, out);
  }
  void weigh(const bf16* weights, std::int64_t rows, std::int64_t, const bf16* values,
             const Sums& s) const {
    o.kernels.pair_mixes->mix(
        {weights, kKvBlock, rows, values, width(o.dim), s.out, width(o.dim), kKvBlock, s.keep});
  }
};

/// All of it with the products of a form.
template <class Form>
class Attention {
 public:
  using Value = typename Form::Value;

  Attention(const Compute& compute, const Operands& operands)
      : compute_(compute),
        o_(operands),
        form_{operands},
        row_values_(Form::row_values(o_.dim)),
        width_(Form::width(o_.dim)) {
    const std::int64_t panels = o_.heads * o_.blocks * panel();
    keys_ = compute.arena.array<Value>(panels);
    values_ = compute.arena.array<Value>(panels);
    queries_ = compute.arena.array<Value>(compute.threads.count() * kTaskRows * query_values());
    sums_ = compute.arena.array<float>(compute.threads.count() * sum_values());
  }

  void run() {
    compute_.threads.for_blocks(o_.heads * o_.blocks, [&](std::int64_t task, int) {
      form_.pack(task / o_.blocks, task % o_.blocks, keys_ + task * panel(),
                 values_ + task * panel());
    });
    const std::int64_t row_tasks = divide_up(o_.q.rows, kTaskRows);
    compute_.threads.for_blocks(o_.heads * row_tasks, [&](std::int64_t task, int worker) {
      run_task(task / row_tasks, task % row_tasks * kTaskRows, worker);
    });
  }

 private:
  [[nodiscard]] std::int64_t panel() const { return row_values_ * kKvBlock; }
  /// A query and the weights of a block of positions.
  [[nodiscard]] std::int64_t query_values() const { return row_values_ + kKvBlock; }
  [[nodiscard]] std::int64_t sum_values() const { return kTaskRows * (width_ + kKvBlock + 3); }

  [[nodiscard]] Sums sums(int worker) const {
    float* scores = sums_ + worker * sum_values();
    float* out = scores + kTaskRows * kKvBlock;
    float* max = out + kTaskRows * width_;
    return {scores, out, max, max + kTaskRows, max + 2 * kTaskRows};
  }

  void run_task(std::int64_t head, std::int64_t first, int worker) const noexcept {
    const std::int64_t rows = std::min(kTaskRows, o_.q.rows - first);
    const Sums s = sums(worker);
    Value* queries = queries_ + worker * kTaskRows * query_values();
    for (std::int64_t r = 0; r < rows; ++r) {
      form_.put_query(o_.q.row(first + r) + head * o_.dim, queries + r * row_values_);
      s.max[r] = -std::numeric_limits<float>::infinity();
      s.sum[r] = 0;
    }
    for (std::int64_t block = 0; block < o_.blocks; ++block) {
      if (compute_.cancelled()) return;
      attend_block(queries, rows, head * o_.blocks + block, o_.positions(block), s);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      float* target = o_.out.row(first + r) + head * o_.dim;
      for (std::int64_t d = 0; d < o_.dim; ++d) target[d] = s.out[r * width_ + d] / s.sum[r];
    }
  }

  /// Adds `count` positions, those of panel `at`, to a task's rows.
  void attend_block(Value* queries, std::int64_t rows, std::int64_t at, std::int64_t count,
                    const Sums& s) const noexcept {
    Value* weights = queries + kTaskRows * row_values_;
    form_.score(queries, rows, keys_ + at * panel(), s);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* scores = s.scores + r * kKvBlock;
      s.keep[r] = o_.kernels.softmax_step(scores, count, o_.scale, s.max + r, s.sum + r);
      form_.put_weights(scores, weights + r * kKvBlock);
    }
    form_.weigh(weights, rows, count, values_ + at * panel(), s);
  }

  const Compute& compute_;
  const Operands& o_;
  Form form_;
  std::int64_t row_values_, width_;
  Value *keys_, *values_;  ///< [heads][blocks] panels
  Value* queries_;         ///< of a worker: [kTaskRows] queries, then weights
  float* sums_;
};

template <class Form>
void attend(const Compute& compute, const Operands& operands, const Work& work) {
  Attention<Form> attention(compute, operands);
  if (compute.count(work) || operands.q.rows == 0) return;
  attention.run();
}

/// Scores, softmax (4 operations a score) and weighted values; the panels are written and read.
Work work_of(std::int64_t heads, ConstView q) {
  const std::int64_t dim = q.cols / heads;
  const std::int64_t bytes = q.rows * q.cols * dtype_size(DType::f32);
  return {heads * q.rows * q.rows * (4 * dim + 4), 0, 8 * bytes};
}

}  // namespace

void bidirectional_attention(Compute& compute, std::int64_t heads, float scale, ConstView q,
                             ConstView k, ConstView v, View out) {
  const ArenaScope scope(compute.arena);
  const Operands operands{
      compute.kernels, heads, q.cols / heads, divide_up(k.rows, kKvBlock), scale, q, k, v, out};
  if (compute.precision == Precision::bf16 && compute.kernels.pair_mixes != nullptr)
    return attend<Pairs>(compute, operands, work_of(heads, q));
  attend<Floats>(compute, operands, work_of(heads, q));
}

}  // namespace sightline::kernels
