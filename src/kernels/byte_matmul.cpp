// Rows are rounded and laid out once for all outputs, as many at a time as stay small beside the
// activations; threads take blocks of rows and outputs, and read the packed codes directly.
#include "kernels/byte_matmul.hpp"

#include <algorithm>

#include "kernels/bytes.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/table.hpp"

namespace sightline::kernels {
namespace {

constexpr std::int64_t kLaidBytes = std::int64_t{1} << 24;  // laid out at a time: 16 MiB
constexpr std::int64_t kLaidRows = 16;                      // by one task: a group of a tile
constexpr std::int64_t kTasksPerThread = 4;  // unless outputs are too few, so that none goes idle
constexpr std::int64_t kLeastOuts = 32;      // of a task: a block of tiles
constexpr std::int64_t kFewRows = 4;  // up to here tiles would be mostly empty, and reading is the
                                      // limit; no measurement stands behind it

struct Product {
  const ByteProducts& bytes;
  ConstView x;
  const PackedWeight& weight;
  const float* bias;
  View y;
  std::byte* laid = nullptr;  ///< the rows of x, laid out
  float* scales = nullptr;
  bool parallel = false;
};

template <class F>
void for_tasks(Compute& compute, const Product& p, std::int64_t tasks, const F& run) {
  if (p.parallel) return compute.threads.for_blocks(tasks, run);
  for (std::int64_t task = 0; task < tasks; ++task) run(task, 0);
}

void lay_out(Compute& compute, const Product& p) {
  for_tasks(compute, p, divide_up(p.x.rows, kLaidRows), [&](std::int64_t group, int) {
    const std::int64_t row = group * kLaidRows;
    p.bytes.lay_rows({p.x.row(row), p.x.stride, std::min(kLaidRows, p.x.rows - row), p.x.cols,
                      p.laid + row * byte_stride(p.x.cols),
                      p.scales + row * integer_steps(p.x.cols)});
  });
}

/// Consecutive tasks share their rows.
void multiply(Compute& compute, const Product& p) {
  const std::int64_t stride = byte_stride(p.x.cols), steps = integer_steps(p.x.cols);
  const std::int64_t row_blocks = divide_up(p.x.rows, p.bytes.rows);
  std::int64_t outs = p.bytes.outs;
  while (outs > kLeastOuts &&
         row_blocks * divide_up(p.weight.out, outs) < kTasksPerThread * compute.threads.count())
    outs /= 2;
  const std::int64_t out_blocks = divide_up(p.weight.out, outs);
  for_tasks(compute, p, row_blocks * out_blocks, [&](std::int64_t task, int) {
    const std::int64_t row = task / out_blocks * p.bytes.rows, out = task % out_blocks * outs;
    p.bytes.multiply({p.laid + row * stride, stride, std::min(p.bytes.rows, p.x.rows - row),
                      p.scales + row * steps, steps, &p.weight, out,
                      std::min(outs, p.weight.out - out),
                      p.bias != nullptr ? p.bias + out : nullptr, p.y.row(row) + out, p.y.stride});
  });
}

const ByteProducts& products_for(const Kernels& kernels, std::int64_t rows) {
  return kernels.byte_tiles != nullptr && rows > kFewRows ? *kernels.byte_tiles : *kernels.bytes;
}

}  // namespace

bool takes_bytes(const Compute& compute, const Weight& weight, std::int64_t rows) {
  if (!weight.packed || !weight.packed->integers || weight.in == 0) return false;
  if (weight.packed->code == PackedCode::u4) {
    const ByteProducts* bytes = compute.kernels.bytes;
    return rows > kFewRows &&
           (compute.kernels.byte_tiles != nullptr || (bytes != nullptr && bytes->nibbles));
  }
  return compute.kernels.bytes != nullptr && has_narrow_integers(*weight.packed);
}

void byte_matmul(Compute& compute, ConstView x, const Weight& weight, const float* bias,
                 View y) noexcept {
  const ArenaScope scope(compute.arena);
  const ByteProducts& bytes = products_for(compute.kernels, x.rows);
  const std::int64_t stride = byte_stride(weight.in);
  const std::int64_t at_once =
      std::min(x.rows, std::max(kLaidBytes / stride / bytes.rows, std::int64_t{1}) * bytes.rows);
  auto* laid = compute.arena.array<std::byte>(at_once * stride);
  auto* scales = compute.arena.array<float>(at_once * integer_steps(weight.in));
  const Work work{2 * x.rows * weight.out * weight.in, weight.bytes(),
                  x.rows * (weight.in + weight.out) * dtype_size(DType::f32)};
  if (compute.count(work) || x.rows == 0 || weight.out == 0) return;
  for (std::int64_t row = 0; row < x.rows; row += at_once) {
    const std::int64_t rows = std::min(at_once, x.rows - row);
    const Product p{bytes,
                    x.slice_rows(row, rows),
                    *weight.packed,
                    bias,
                    y.slice_rows(row, rows),
                    laid,
                    scales,
                    rows * weight.out * weight.in >= kSerialWork};
    lay_out(compute, p);
    multiply(compute, p);
  }
}

}  // namespace sightline::kernels
