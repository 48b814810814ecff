// Online softmax over blocks of 64 positions, written once over the kernel table. A task is a few
// query rows times the query heads of one key head: it widens each key/value block once for all of
// them.
#include "kernels/attention.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/bf16.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kTaskRows =
    48;  // query rows times heads of a task: its scratch stays in the second-level cache

struct Operands {
  const Kernels& kernels;
  const AttentionShape& shape;
  ConstView q;
  std::int64_t first_position;
  const KvBlocks& kv;
  View out;
  std::int64_t padded;  ///< head_dim rounded up to the lanes of the kernel set
};

/// Query rows [row, row + rows) of heads [head, head + heads), all of one key head. Line i of the
/// scratch is row row + i / heads and head head + i % heads.
struct Task {
  std::int64_t row = 0, rows = 0, head = 0, heads = 0;
};

struct Scratch {
  float *q, *keys, *values, *scores, *out, *max, *sum, *keep;

  static std::int64_t floats(std::int64_t padded) {
    return 2 * kTaskRows * padded + 2 * kKvBlock * padded + kTaskRows * kKvBlock +
           3 * round_up(kTaskRows, 16);
  }
  Scratch(float* base, std::int64_t padded) {
    const auto take = [&](std::int64_t count) {
      float* part = base;
      base += count;
      return part;
    };
    q = take(kTaskRows * padded);
    out = take(kTaskRows * padded);
    keys = take(kKvBlock * padded);
    values = take(kKvBlock * padded);
    scores = take(kTaskRows * kKvBlock);
    max = take(round_up(kTaskRows, 16));
    sum = take(round_up(kTaskRows, 16));
    keep = take(round_up(kTaskRows, 16));
  }
};

/// Copies the queries of a task, padded with zeros.
void load_queries(const Operands& o, const Task& task, const Scratch& s) {
  const std::int64_t dim = o.shape.head_dim;
  for (std::int64_t i = 0; i < task.rows * task.heads; ++i) {
    const float* source = o.q.row(task.row + i / task.heads) + (task.head + i % task.heads) * dim;
    float* line = s.q + i * o.padded;
    std::copy(source, source + dim, line);
    std::fill(line + dim, line + o.padded, 0.0F);
    s.max[i] = -std::numeric_limits<float>::infinity();
    s.sum[i] = 0;
  }
}

/// A block's keys or values as float32 rows of `padded`: where they lie, or widened into scratch.
const float* load_block(const Operands& o, const std::byte* block, std::int64_t kv_head,
                        std::int64_t count, float* scratch) {
  const std::int64_t dim = o.shape.head_dim;
  const std::byte* source = block + kv_head * kKvBlock * dim * dtype_size(o.kv.dtype);
  for (std::int64_t p = 0; p < count; ++p) {
    float* line = scratch + p * o.padded;
    o.kernels.widen(o.kv.dtype, source + p * dim * dtype_size(o.kv.dtype), dim, line);
    std::fill(line + dim, line + o.padded, 0.0F);
  }
  return scratch;
}

/// Positions of block `b` that query row `row` sees.
std::int64_t visible(const Operands& o, std::int64_t row, std::int64_t b) {
  const std::int64_t end = std::min(o.kv.length, o.first_position + row + 1);
  return std::clamp<std::int64_t>(end - b * kKvBlock, 0, kKvBlock);
}

/// One block of keys and values for the lines [begin, end) of a task, which see `count` positions
/// or (in the block that holds their own position) fewer.
void attend_block(const Operands& o, const Task& task, const Scratch& s, std::int64_t b,
                  std::int64_t count) {
  const std::int64_t lines = task.rows * task.heads;
  const std::int64_t kv_head = task.head / (o.shape.heads / o.shape.kv_heads);
  std::int64_t begin = 0;
  while (begin < task.rows && visible(o, task.row + begin, b) == 0) ++begin;
  begin *= task.heads;
  const float* keys = load_block(o, o.kv.keys[b], kv_head, count, s.keys);
  const float* values = load_block(o, o.kv.values[b], kv_head, count, s.values);
  o.kernels.dot_panel({s.q + begin * o.padded, o.padded, lines - begin, keys, o.padded, count,
                       s.scores + begin * kKvBlock, kKvBlock, o.padded, false});
  for (std::int64_t i = begin; i < lines; ++i) {
    s.keep[i] =
        o.kernels.softmax_step(s.scores + i * kKvBlock, visible(o, task.row + i / task.heads, b),
                               o.shape.scale, s.max + i, s.sum + i);
  }
  // Lines that see the same positions go together.
  for (std::int64_t i = begin; i < lines;) {
    const std::int64_t seen = visible(o, task.row + i / task.heads, b);
    std::int64_t next = i + 1;
    while (next < lines && visible(o, task.row + next / task.heads, b) == seen) ++next;
    o.kernels.mix_panel({s.scores + i * kKvBlock, kKvBlock, 1, next - i, values, o.padded, o.padded,
                         s.out + i * o.padded, o.padded, seen, s.keep + i, 0});
    i = next;
  }
}

void store_output(const Operands& o, const Task& task, const Scratch& s) {
  const std::int64_t dim = o.shape.head_dim;
  for (std::int64_t i = 0; i < task.rows * task.heads; ++i) {
    float* target = o.out.row(task.row + i / task.heads) + (task.head + i % task.heads) * dim;
    const float* line = s.out + i * o.padded;
    for (std::int64_t d = 0; d < dim; ++d) target[d] = line[d] / s.sum[i];
  }
}

void run_task(Compute& compute, const Operands& o, const Task& task, const Scratch& s) noexcept {
  load_queries(o, task, s);
  const std::int64_t last_row = task.row + task.rows - 1;
  for (std::int64_t b = 0; b * kKvBlock < o.kv.length; ++b) {
    const std::int64_t count = visible(o, last_row, b);
    if (count == 0) break;
    if (compute.cancelled()) return;
    attend_block(o, task, s, b, count);
  }
  store_output(o, task, s);
}

/// Scores, softmax (4 operations a score) and weighted values of every visible pair of a query and
/// a position, for all heads; keys and values are read once.
Work attention_work(const AttentionShape& shape, ConstView q, std::int64_t first_position,
                    const KvBlocks& kv) {
  const std::int64_t pairs = q.rows * first_position + q.rows * (q.rows + 1) / 2;
  const std::int64_t kv_bytes =
      2 * kv.length * shape.kv_heads * shape.head_dim * dtype_size(kv.dtype);
  return {shape.heads * pairs * (4 * shape.head_dim + 4), 0,
          kv_bytes + 2 * q.rows * q.cols * dtype_size(DType::f32)};
}

void store_rounded(const float* source, std::int64_t count, std::byte* target) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bf16 value = to_bf16(source[i]);
    std::memcpy(target + i * dtype_size(DType::bf16), &value.bits, sizeof value.bits);
  }
}

}  // namespace

void attention(Compute& compute, const AttentionShape& shape, ConstView q,
               std::int64_t first_position, const KvBlocks& kv, View out) {
  const ArenaScope scope(compute.arena);
  const std::int64_t padded = round_up(shape.head_dim, compute.kernels.lanes);
  const Operands operands{compute.kernels, shape, q, first_position, kv, out, padded};
  const std::int64_t group = shape.heads / shape.kv_heads;
  const int workers = compute.threads.count();
  // The heads of a group share the widened keys, unless that would leave threads without work.
  std::int64_t heads = std::min(group, kTaskRows);
  while (heads > 1 && (group % heads != 0 || q.rows * shape.heads / heads < 2 * workers)) --heads;
  const std::int64_t rows = std::max<std::int64_t>(1, kTaskRows / heads);
  const std::int64_t row_tasks = divide_up(q.rows, rows);
  const std::int64_t head_tasks = shape.heads / heads;
  const std::int64_t floats = round_up(Scratch::floats(padded), 16);
  float* memory = compute.arena.array<float>(workers * floats);
  if (compute.count(attention_work(shape, q, first_position, kv))) return;
  if (q.rows == 0 || kv.length == 0) return;
  compute.threads.for_blocks(row_tasks * head_tasks, [&](std::int64_t block, int worker) {
    Task task;
    task.head = block % head_tasks * heads;
    task.heads = heads;
    task.row = (row_tasks - 1 - block / head_tasks) * rows;  // the longest first
    task.rows = std::min(rows, q.rows - task.row);
    run_task(compute, operands, task, Scratch(memory + worker * floats, padded));
  });
}

Work store_work(ConstView x, DType dtype) noexcept {
  return {0, 0, x.rows * x.cols * (dtype_size(DType::f32) + dtype_size(dtype))};
}

void store_kv(ConstView x, std::int64_t kv_heads, std::int64_t first, DType dtype,
              std::byte* const* blocks) noexcept {
  const std::int64_t dim = x.cols / kv_heads;
  const std::int64_t bytes = dim * dtype_size(dtype);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const std::int64_t position = first + r;
    std::byte* block = blocks[position / kKvBlock];
    for (std::int64_t h = 0; h < kv_heads; ++h) {
      std::byte* target = block + (h * kKvBlock + position % kKvBlock) * bytes;
      const float* source = x.row(r) + h * dim;
      if (dtype == DType::bf16) {
        store_rounded(source, dim, target);
      } else {
        std::memcpy(target, source, static_cast<std::size_t>(bytes));
      }
    }
  }
}

}  // namespace sightline::kernels
