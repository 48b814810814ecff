// Written once over the kernel table. Keys are turned into panels whose lines run over positions,
// so that scores and weighted values are the same product (mix_panel) and no sum runs across the
// lanes of a vector; queries go through in tasks of some rows of one head.
#include "kernels/bidirectional_attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

// Query rows of a task: its queries, scores and outputs stay in the second-level cache with a block
// of keys and values. A multiple of the six rows of mix_panel's register tile.
constexpr std::int64_t kTaskRows = 96;
constexpr std::int64_t kAlignFloats = 16;  // a cache line

constexpr std::int64_t round_up(std::int64_t n, std::int64_t by) { return divide_up(n, by) * by; }

struct Operands {
  const Kernels& kernels;
  std::int64_t heads, dim, blocks;
  float scale;
  ConstView q, k, v;
  View out;
  float* keys;    ///< [heads][blocks][dim][kKvBlock]; positions behind the last are zero
  float* values;  ///< [heads][blocks][kKvBlock][dim]

  [[nodiscard]] std::int64_t panel() const { return dim * kKvBlock; }
  [[nodiscard]] float* key_panel(std::int64_t head, std::int64_t block) const {
    return keys + (head * blocks + block) * panel();
  }
  [[nodiscard]] float* value_panel(std::int64_t head, std::int64_t block) const {
    return values + (head * blocks + block) * panel();
  }
  [[nodiscard]] std::int64_t positions(std::int64_t block) const {
    return std::min(kKvBlock, k.rows - block * kKvBlock);
  }
};

void pack(const Operands& o, std::int64_t head, std::int64_t block) noexcept {
  float* keys = o.key_panel(head, block);
  float* values = o.value_panel(head, block);
  const std::int64_t count = o.positions(block);
  if (count < kKvBlock) std::fill(keys, keys + o.panel(), 0.0F);
  for (std::int64_t p = 0; p < count; ++p) {
    const float* key = o.k.row(block * kKvBlock + p) + head * o.dim;
    for (std::int64_t d = 0; d < o.dim; ++d) keys[d * kKvBlock + p] = key[d];
    const float* value = o.v.row(block * kKvBlock + p) + head * o.dim;
    std::copy(value, value + o.dim, values + p * o.dim);
  }
}

struct Scratch {
  float *q, *scores, *out, *max, *sum, *keep;

  static std::int64_t floats(std::int64_t dim) {
    return round_up(2 * kTaskRows * dim + kTaskRows * kKvBlock + 3 * kTaskRows, kAlignFloats);
  }
  Scratch(float* base, std::int64_t dim)
      : q(base),
        scores(q + kTaskRows * dim),
        out(scores + kTaskRows * kKvBlock),
        max(out + kTaskRows * dim),
        sum(max + kTaskRows),
        keep(sum + kTaskRows) {}
};

/// Adds one block of positions to `rows` lines of scratch.
void attend_block(const Operands& o, const Scratch& s, std::int64_t head, std::int64_t block,
                  std::int64_t rows) noexcept {
  const std::int64_t count = o.positions(block);
  o.kernels.mix_panel({s.q, o.dim, 1, rows, o.key_panel(head, block), kKvBlock, kKvBlock, s.scores,
                       kKvBlock, o.dim, nullptr, 0.0F});
  for (std::int64_t r = 0; r < rows; ++r) {
    s.keep[r] =
        o.kernels.softmax_step(s.scores + r * kKvBlock, count, o.scale, s.max + r, s.sum + r);
  }
  o.kernels.mix_panel({s.scores, kKvBlock, 1, rows, o.value_panel(head, block), o.dim, o.dim, s.out,
                       o.dim, count, s.keep, 0.0F});
}

void run_task(const Compute& compute, const Operands& o, std::int64_t head, std::int64_t first,
              const Scratch& s) noexcept {
  const std::int64_t rows = std::min(kTaskRows, o.q.rows - first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* query = o.q.row(first + r) + head * o.dim;
    std::copy(query, query + o.dim, s.q + r * o.dim);
    s.max[r] = -std::numeric_limits<float>::infinity();
    s.sum[r] = 0;
  }
  for (std::int64_t block = 0; block < o.blocks; ++block) {
    if (compute.cancelled()) return;
    attend_block(o, s, head, block, rows);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    float* target = o.out.row(first + r) + head * o.dim;
    for (std::int64_t d = 0; d < o.dim; ++d) target[d] = s.out[r * o.dim + d] / s.sum[r];
  }
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
  const std::int64_t dim = q.cols / heads, blocks = divide_up(k.rows, kKvBlock);
  const std::int64_t panels = heads * blocks * kKvBlock * dim;
  const Operands operands{compute.kernels,
                          heads,
                          dim,
                          blocks,
                          scale,
                          q,
                          k,
                          v,
                          out,
                          compute.arena.array<float>(panels),
                          compute.arena.array<float>(panels)};
  const std::int64_t floats = Scratch::floats(dim);
  float* memory = compute.arena.array<float>(compute.threads.count() * floats);
  if (compute.count(work_of(heads, q)) || q.rows == 0) return;
  compute.threads.for_blocks(heads * blocks, [&](std::int64_t task, int) {
    pack(operands, task / blocks, task % blocks);
  });
  const std::int64_t row_tasks = divide_up(q.rows, kTaskRows);
  compute.threads.for_blocks(heads * row_tasks, [&](std::int64_t task, int worker) {
    run_task(compute, operands, task / row_tasks, task % row_tasks * kTaskRows,
             Scratch(memory + worker * floats, dim));
  });
}

}  // namespace sightline::kernels
