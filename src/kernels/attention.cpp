// Online softmax over blocks of 64 positions, written once over the kernel table. A task is a few
// query rows times the query heads of one key head: it makes a block of keys and values ready once
// for all of them. In float32, or in pairs of bfloat16 where activations may be rounded, the cache
// holds bfloat16 and the set multiplies such.
#include "kernels/attention.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/bf16.hpp"
#include "kernels/pair_mixes.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"
#include "kernels/tiles.hpp"

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
};

/// Query rows [row, row + rows) of heads [head, head + heads), all of one key head. Line i of the
/// scratch is row row + i / heads and head head + i % heads.
struct Task {
  std::int64_t row = 0, rows = 0, head = 0, heads = 0;

  [[nodiscard]] std::int64_t lines() const { return rows * heads; }
};

/// Of the lines of a task: scores of a block [kTaskRows][kKvBlock], outputs before they are divided
/// [kTaskRows][width], and what the softmax keeps.
struct Sums {
  float *scores, *out, *max, *sum, *keep;

  static std::int64_t floats(std::int64_t width) { return kTaskRows * (kKvBlock + width + 3); }
  Sums(float* base, std::int64_t width)
      : scores(base),
        out(scores + kTaskRows * kKvBlock),
        max(out + kTaskRows * width),
        sum(max + kTaskRows),
        keep(sum + kTaskRows) {}
};

/// Lines [first, first + count) of a task.
struct Lines {
  std::int64_t first = 0, count = 0;
};

/// Products in float32: a block is widened.
class Floats {
 public:
  using Value = float;

  /// Values of a line of outputs, with zeros behind the head.
  static std::int64_t width(const Operands& o) {
    return round_up(o.shape.head_dim, o.kernels.lanes);
  }
  /// Scratch of a worker.
  static std::int64_t values(const Operands& o) { return (kTaskRows + 2 * kKvBlock) * width(o); }

  Floats(const Operands& o, float* memory)
      : o_(o),
        width_(width(o)),
        queries_(memory),
        keys_(queries_ + kTaskRows * width_),
        values_(keys_ + kKvBlock * width_) {}

  /// Takes `count` queries from lines of `width`.
  void take_queries(const float* lines, std::int64_t count) const {
    std::copy(lines, lines + count * width_, queries_);
  }
  /// Takes `count` positions of a block of one key head.
  void take_block(const std::byte* keys, const std::byte* values, std::int64_t count) const {
    widen(keys, count, keys_);
    widen(values, count, values_);
  }
  void score(const Lines& lines, std::int64_t count, const Sums& s) const {
    o_.kernels.dot_panel({queries_ + lines.first * width_, width_, lines.count, keys_, width_,
                          count, s.scores + lines.first * kKvBlock, kKvBlock, width_, false});
  }
  /// Adds the first `seen` positions, by the weights that lie in the scores.
  void weigh(const Lines& lines, std::int64_t seen, const Sums& s) const {
    o_.kernels.mix_panel({s.scores + lines.first * kKvBlock, kKvBlock, 1, lines.count, values_,
                          width_, width_, s.out + lines.first * width_, width_, seen,
                          s.keep + lines.first, 0});
  }

 private:
  void widen(const std::byte* source, std::int64_t count, float* out) const {
    const std::int64_t dim = o_.shape.head_dim, bytes = dim * dtype_size(o_.kv.dtype);
    for (std::int64_t p = 0; p < count; ++p, source += bytes, out += width_) {
      o_.kernels.widen(o_.kv.dtype, source, dim, out);
      std::fill(out + dim, out + width_, 0.0F);
    }
  }

  const Operands& o_;
  std::int64_t width_;
  float *queries_, *keys_, *values_;
};

/// Products of pairs of bfloat16: queries and weights are rounded, scores and sums are float32.
/// Keys are read as they are stored.
class Pairs {
 public:
  using Value = bf16;

  static bool can(const Compute& compute, DType dtype) {
    return compute.precision == Precision::bf16 && dtype == DType::bf16 &&
           compute.kernels.tiles != nullptr && compute.kernels.pair_mixes != nullptr;
  }
  static std::int64_t width(const Operands& o) { return round_up(o.shape.head_dim, kPairColumns); }
  static std::int64_t values(const Operands& o) {
    return kTaskRows * (tile_stride(o.shape.head_dim) + kKvBlock) + (kKvBlock + 2) * width(o);
  }

  Pairs(const Operands& o, bf16* memory)
      : o_(o),
        width_(width(o)),
        queries_(memory),
        weights_(queries_ + kTaskRows * tile_stride(o.shape.head_dim)),
        values_(weights_ + kTaskRows * kKvBlock),
        last_(values_ + kKvBlock * width_) {}

  void take_queries(const float* lines, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; i += kTileSide) {
      o_.kernels.tiles->lay_rows({lines + i * width_, width_, std::min(kTileSide, count - i),
                                  o_.shape.head_dim,
                                  queries_ + i * tile_stride(o_.shape.head_dim)});
    }
  }
  void take_block(const std::byte* keys, const std::byte* values, std::int64_t count) {
    keys_ = keys;
    for (std::int64_t p = 0; p < count; p += 2) {
      pair(values + p * row_bytes(), p + 1 < count ? values + (p + 1) * row_bytes() : nullptr,
           values_ + p * width_);
    }
    stored_values_ = values;
  }
  void score(const Lines& lines, std::int64_t count, const Sums& s) const {
    const std::int64_t before = lines.first % kTileSide, first = lines.first - before;
    o_.kernels.tiles->multiply({queries_ + first * tile_stride(o_.shape.head_dim),
                                lines.count + before, keys_, o_.shape.head_dim, count, nullptr,
                                s.scores + first * kKvBlock, kKvBlock});
  }
  /// The last of an odd number of positions goes alone: one that a line does not see may hold
  /// anything.
  void weigh(const Lines& lines, std::int64_t seen, const Sums& s) const {
    static constexpr std::array<float, kTaskRows> kOnes = [] {
      std::array<float, kTaskRows> ones{};
      ones.fill(1);
      return ones;
    }();
    const std::int64_t even = seen / 2 * 2;
    for (std::int64_t i = lines.first; i < lines.first + lines.count; ++i)
      o_.kernels.pair_mixes->round(s.scores + i * kKvBlock, kKvBlock, weights_ + i * kKvBlock);
    const bf16* weights = weights_ + lines.first * kKvBlock;
    float* out = s.out + lines.first * width_;
    o_.kernels.pair_mixes->mix(
        {weights, kKvBlock, lines.count, values_, width_, out, width_, even, s.keep + lines.first});
    if (even == seen) return;
    pair(stored_values_ + even * row_bytes(), nullptr, last_);
    o_.kernels.pair_mixes->mix(
        {weights + even, kKvBlock, lines.count, last_, width_, out, width_, 2, kOnes.data()});
  }

 private:
  [[nodiscard]] std::int64_t row_bytes() const {
    return o_.shape.head_dim * dtype_size(DType::bf16);
  }
  void pair(const std::byte* first, const std::byte* second, bf16* out) const {
    o_.kernels.pair_mixes->pair(first, second, o_.shape.head_dim, out);
  }

  const Operands& o_;
  std::int64_t width_;
  bf16 *queries_, *weights_, *values_, *last_;
  const std::byte *keys_ = nullptr, *stored_values_ = nullptr;
};

/// A task's way through the blocks, with the products of a form.
template <class Form>
class TaskRun {
 public:
  TaskRun(const Operands& o, const Task& task, typename Form::Value* values, float* sums)
      : o_(o), task_(task), form_(o, values), width_(Form::width(o)), s_(sums, width_) {}

  void run(const Compute& compute) noexcept {
    load_queries();
    for (std::int64_t b = 0; b * kKvBlock < o_.kv.length; ++b) {
      const std::int64_t count = visible(task_.rows - 1, b);
      if (count == 0) break;
      if (compute.cancelled()) return;
      attend_block(b, count);
    }
    store_output();
  }

 private:
  /// Gathers the queries where outputs will be.
  void load_queries() {
    const std::int64_t dim = o_.shape.head_dim;
    for (std::int64_t i = 0; i < task_.lines(); ++i) {
      const float* source =
          o_.q.row(task_.row + i / task_.heads) + (task_.head + i % task_.heads) * dim;
      float* line = s_.out + i * width_;
      std::copy(source, source + dim, line);
      std::fill(line + dim, line + width_, 0.0F);
      s_.max[i] = -std::numeric_limits<float>::infinity();
      s_.sum[i] = 0;
    }
    form_.take_queries(s_.out, task_.lines());
  }

  /// Positions of block `b` that query row `row` of the task sees.
  [[nodiscard]] std::int64_t visible(std::int64_t row, std::int64_t b) const {
    const std::int64_t end = std::min(o_.kv.length, o_.first_position + task_.row + row + 1);
    return std::clamp<std::int64_t>(end - b * kKvBlock, 0, kKvBlock);
  }

  /// One block of keys and values for the lines that see any of it: `count` positions or (in the
  /// block that holds their own position) fewer.
  void attend_block(std::int64_t b, std::int64_t count) {
    const std::int64_t kv_head = task_.head / (o_.shape.heads / o_.shape.kv_heads);
    const std::int64_t offset = kv_head * kKvBlock * o_.shape.head_dim * dtype_size(o_.kv.dtype);
    std::int64_t begin = 0;
    while (begin < task_.rows && visible(begin, b) == 0) ++begin;
    begin *= task_.heads;
    form_.take_block(o_.kv.keys[b] + offset, o_.kv.values[b] + offset, count);
    form_.score({begin, task_.lines() - begin}, count, s_);
    for (std::int64_t i = begin; i < task_.lines(); ++i) {
      s_.keep[i] = o_.kernels.softmax_step(s_.scores + i * kKvBlock, visible(i / task_.heads, b),
                                           o_.shape.scale, s_.max + i, s_.sum + i);
    }
    // Lines that see the same positions go together.
    for (std::int64_t i = begin; i < task_.lines();) {
      const std::int64_t seen = visible(i / task_.heads, b);
      std::int64_t next = i + 1;
      while (next < task_.lines() && visible(next / task_.heads, b) == seen) ++next;
      form_.weigh({i, next - i}, seen, s_);
      i = next;
    }
  }

  void store_output() {
    const std::int64_t dim = o_.shape.head_dim;
    for (std::int64_t i = 0; i < task_.lines(); ++i) {
      float* target =
          o_.out.row(task_.row + i / task_.heads) + (task_.head + i % task_.heads) * dim;
      const float* line = s_.out + i * width_;
      for (std::int64_t d = 0; d < dim; ++d) target[d] = line[d] / s_.sum[i];
    }
  }

  const Operands& o_;
  const Task& task_;
  Form form_;
  std::int64_t width_;
  Sums s_;
};

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

template <class Form>
void attend(Compute& compute, const Operands& o) {
  const ArenaScope scope(compute.arena);
  const std::int64_t group = o.shape.heads / o.shape.kv_heads, rows_of_q = o.q.rows;
  const int workers = compute.threads.count();
  // The heads of a group share a block that is ready, unless that would leave threads without work.
  std::int64_t heads = std::min(group, kTaskRows);
  while (heads > 1 && (group % heads != 0 || rows_of_q * o.shape.heads / heads < 2 * workers))
    --heads;
  const std::int64_t rows = std::max<std::int64_t>(1, kTaskRows / heads);
  const std::int64_t row_tasks = divide_up(rows_of_q, rows);
  const std::int64_t head_tasks = o.shape.heads / heads;
  // Workers' scratch begins at cache lines of their own.
  const std::int64_t values = round_up(Form::values(o), 32),
                     floats = round_up(Sums::floats(Form::width(o)), 16);
  auto* value_memory = compute.arena.array<typename Form::Value>(workers * values);
  float* sum_memory = compute.arena.array<float>(workers * floats);
  if (compute.count(attention_work(o.shape, o.q, o.first_position, o.kv))) return;
  if (rows_of_q == 0 || o.kv.length == 0) return;
  compute.threads.for_blocks(row_tasks * head_tasks, [&](std::int64_t block, int worker) {
    Task task;
    task.head = block % head_tasks * heads;
    task.heads = heads;
    task.row = (row_tasks - 1 - block / head_tasks) * rows;  // the longest first
    task.rows = std::min(rows, rows_of_q - task.row);
    TaskRun<Form>(o, task, value_memory + worker * values, sum_memory + worker * floats)
        .run(compute);
  });
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
  const Operands operands{compute.kernels, shape, q, first_position, kv, out};
  if (Pairs::can(compute, kv.dtype)) return attend<Pairs>(compute, operands);
  attend<Floats>(compute, operands);
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
