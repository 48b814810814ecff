// How work is cut into blocks large enough to be worth a wake-up, and rows handed out in them.
// Inside kernels/ only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute.hpp"

namespace sightline::kernels {

/// Values that one block of rows covers, about ten microseconds of element-wise work.
inline constexpr std::int64_t kValuesPerBlock = 1 << 15;

/// Multiplications of a matrix product below which waking threads costs more.
inline constexpr std::int64_t kSerialWork = 1 << 16;

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
constexpr std::int64_t round_up(std::int64_t n, std::int64_t by) { return divide_up(n, by) * by; }

/// Calls fn(begin, end) over [0, rows) in pieces; serial when all of it is one piece.
template <class F>
void for_row_blocks(Compute& compute, std::int64_t rows, std::int64_t values_per_row, const F& fn) {
  const std::int64_t step =
      std::max<std::int64_t>(1, kValuesPerBlock / std::max<std::int64_t>(values_per_row, 1));
  if (rows <= step) {
    if (rows > 0) fn(std::int64_t{0}, rows);
    return;
  }
  compute.threads.for_blocks(divide_up(rows, step), [&](std::int64_t block, int) {
    fn(block * step, std::min(rows, (block + 1) * step));
  });
}

}  // namespace sightline::kernels
