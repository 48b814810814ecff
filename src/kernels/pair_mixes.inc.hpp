// Included after pairs.inc.hpp by every file that multiplies pairs of bfloat16 in vectors, inside
// its namespace: rows of pairs, each repeated over a vector, times panels of pairs, and how two
// rows become one of a panel. No sum runs across the lanes of a vector.

/// Rows and vectors of a register tile: 24 sums.
constexpr std::int64_t kMixRows = 6, kMixVectors = 4;

/// A group of one row.
void round_row_to_pairs(const float* x, std::int64_t n, bf16* out) { lay_rows({x, n, 1, n, out}); }

/// R rows and V vectors of columns. A function of its own for the reason that panel_tile has.
template <int R, int V>
[[gnu::noinline]] void mix_pair_tile(const PairMix& p, std::int64_t row, std::int64_t col) {
  PairSums sums[R][V];
  float* c = p.c + row * p.c_stride + col;
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
    const float keep = p.row_scale != nullptr ? p.row_scale[row + r] : 0.0F;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      sums[r][v] = PairSums::all(0);
      if (keep != 0.0F)
        sums[r][v] = PairSums::load(c + r * p.c_stride + v * kPairColumns).times(keep);
    }
  }
  const bf16* a = p.a + row * p.a_stride;
  const bf16* b = p.b + 2 * col;
  for (std::int64_t k = 0; k < p.depth; k += 2, b += 2 * p.cols) {
    PairLine line[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) line[v] = PairLine::load(b + v * kLineValues);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const PairLine factor = PairLine::repeat(a + r * p.a_stride + k);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[r][v].add_products(factor, line[v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[r][v].store(c + r * p.c_stride + v * kPairColumns);
  }
}

/// R rows, all columns.
template <int R>
inline void mix_pair_rows(const PairMix& p, std::int64_t row) {
  std::int64_t col = 0;
  for (; col + kMixVectors * kPairColumns <= p.cols; col += kMixVectors * kPairColumns)
    mix_pair_tile<R, kMixVectors>(p, row, col);
  if (col == p.cols) return;
  with_count((p.cols - col) / kPairColumns, [&]<int V>() { mix_pair_tile<R, V>(p, row, col); });
}

void mix_pairs(const PairMix& p) {
  std::int64_t row = 0;
  for (; row + kMixRows <= p.rows; row += kMixRows) mix_pair_rows<kMixRows>(p, row);
  for (; row < p.rows; ++row) mix_pair_rows<1>(p, row);
}

/// kLineValues of a row, or as many as there are and zeros; nothing of a row that is null.
inline PairLine stored_line(const std::byte* row, std::int64_t first, std::int64_t n) {
  if (row != nullptr && n - first >= kLineValues) return PairLine::load(row + first * kValueBytes);
  alignas(64) std::byte last[kLineBytes] = {};
  if (row != nullptr)
    __builtin_memcpy(last, row + first * kValueBytes,
                     static_cast<std::size_t>((n - first) * kValueBytes));
  return PairLine::load(last);
}

void pair_rows(const std::byte* first, const std::byte* second, std::int64_t n, bf16* out) {
  for (std::int64_t d = 0; d < n; d += kLineValues, out += 2 * kLineValues) {
    const PairLine a = stored_line(first, d, n), b = stored_line(second, d, n);
    PairLine::lower_pairs(a, b).store(out);
    if (n - d > kPairColumns) PairLine::upper_pairs(a, b).store(out + kLineValues);
  }
}

constexpr PairMixes kPairMixes{.round = round_row_to_pairs, .mix = mix_pairs, .pair = pair_rows};
