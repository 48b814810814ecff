// Included once by every vector set, inside its region, after its Vec: products of panels. Register
// tiles are templates over their rows and columns; every element is summed in the order that
// table.hpp promises, whatever the tile.

template <int R, int O>
inline void reduce_tile(const Vec (&sums)[R][O], float* c, std::int64_t c_stride, bool accumulate) {
#pragma GCC unroll 4  // or the sums pass through memory
  for (int r = 0; r < R; ++r) {
    const Vec none = Vec::zero();
    Vec::reduce4(sums[r][0], O > 1 ? sums[r][O > 1 ? 1 : 0] : none,
                 O > 2 ? sums[r][O > 2 ? 2 : 0] : none, O > 3 ? sums[r][O > 3 ? 3 : 0] : none,
                 c + r * c_stride, O, accumulate);
  }
}

template <int R, int O>
inline void dot_tile(const DotPanel& p, std::int64_t row, std::int64_t col) {
  const float* a = p.a + row * p.a_stride;
  const float* b = p.b + col * p.b_stride;
  Vec sums[R][O];
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Vec::zero();
  }
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= p.depth; k += Vec::kLanes) {
    Vec x[R];
    for (int r = 0; r < R; ++r) x[r] = Vec::load(a + r * p.a_stride + k);
    for (int o = 0; o < O; ++o) {
      const Vec w = Vec::load(b + o * p.b_stride + k);
      for (int r = 0; r < R; ++r) sums[r][o] = Vec::fma(x[r], w, sums[r][o]);
    }
  }
  for (int o = 0; o < O && k < p.depth; ++o) {
    const Vec w = Vec::load_first(b + o * p.b_stride + k, p.depth - k);
    for (int r = 0; r < R; ++r) {
      sums[r][o] = Vec::fma(Vec::load_first(a + r * p.a_stride + k, p.depth - k), w, sums[r][o]);
    }
  }
  reduce_tile<R, O>(sums, p.c + row * p.c_stride + col, p.c_stride, p.accumulate);
}

template <int R>
inline void dot_rows(const DotPanel& p, std::int64_t row) {
  std::int64_t col = 0;
  for (; col + 4 <= p.cols; col += 4) dot_tile<R, 4>(p, row, col);
  switch (p.cols - col) {
    case 3:
      return dot_tile<R, 3>(p, row, col);
    case 2:
      return dot_tile<R, 2>(p, row, col);
    case 1:
      return dot_tile<R, 1>(p, row, col);
    default:
      return;
  }
}

void dot_panel(const DotPanel& p) {
  std::int64_t row = 0;
  for (; row + Vec::kGroup <= p.rows; row += Vec::kGroup) dot_rows<Vec::kGroup>(p, row);
  if (p.rows - row == 3) return dot_rows<3>(p, row);
  if (p.rows - row == 2) dot_rows<2>(p, row);
  if (p.rows - row == 1) dot_rows<1>(p, row);
}

template <DType D>
inline void widen_type(const std::byte* source, std::int64_t n, float* out) {
  constexpr std::int64_t kSize = dtype_size(D);
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= n; k += Vec::kLanes)
    Vec::load_stored<D>(source + k * kSize).store(out + k);
  if (k == n) return;
  std::byte rest[Vec::kLanes * kSize] = {};
  __builtin_memcpy(rest, source + k * kSize, static_cast<std::size_t>((n - k) * kSize));
  Vec::load_stored<D>(rest).store_first(out + k, n - k);
}

void widen_values(DType dtype, const std::byte* source, std::int64_t n, float* out) {
  if (dtype == DType::bf16) return widen_type<DType::bf16>(source, n, out);
  if (dtype == DType::f16) return widen_type<DType::f16>(source, n, out);
  widen_type<DType::f32>(source, n, out);
}

/// Adds the products of Vec::kLanes elements of R rows and O stored weight rows.
template <int R, int O, DType D>
inline void stored_lanes(const float* x, std::int64_t x_stride, const std::byte* w,
                         std::int64_t row_bytes, Vec (&sums)[R][O]) {
  Vec row[R];
  for (int r = 0; r < R; ++r) row[r] = Vec::load(x + r * x_stride);
  for (int o = 0; o < O; ++o) {
    const Vec weight = Vec::load_stored<D>(w + o * row_bytes);
    for (int r = 0; r < R; ++r) sums[r][o] = Vec::fma(row[r], weight, sums[r][o]);
  }
}

/// The same for the `count` elements at the end of a row.
template <int R, int O, DType D>
inline void stored_rest(const float* x, std::int64_t x_stride, const std::byte* w,
                        std::int64_t row_bytes, std::int64_t count, Vec (&sums)[R][O]) {
  constexpr std::int64_t kSize = dtype_size(D);
  for (int o = 0; o < O; ++o) {
    std::byte rest[Vec::kLanes * kSize] = {};
    __builtin_memcpy(rest, w + o * row_bytes, static_cast<std::size_t>(count * kSize));
    const Vec weight = Vec::load_stored<D>(rest);
    for (int r = 0; r < R; ++r)
      sums[r][o] = Vec::fma(Vec::load_first(x + r * x_stride, count), weight, sums[r][o]);
  }
}

/// What a register tile of stored weights works on.
struct StoredTile {
  std::int64_t row = 0, out = 0;      ///< its first row and output
  std::int64_t first = 0, depth = 0;  ///< the step
  bool accumulate = false;            ///< y holds the sum of the steps before
  bool fetch_next = false;            ///< ask for the weights of the next outputs meanwhile
};

/// One step of R rows against O stored weight rows.
template <int R, int O, DType D>
inline void stored_tile(const DotStored& p, const StoredTile& t) {
  constexpr std::int64_t kSize = dtype_size(D);
  constexpr std::int64_t kLine = 64 / kSize;  // elements of a cache line
  const std::int64_t row_bytes = p.in * kSize;
  const std::byte* w = p.w + (t.out * p.in + t.first) * kSize;
  const float* x = p.x + t.row * p.x_stride + t.first;
  Vec sums[R][O];
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Vec::zero();
  }
  std::int64_t k = 0;
  for (; k + kLine <= t.depth; k += kLine) {
    for (int o = O; o < 2 * O && t.fetch_next; ++o) {
      fetch(reinterpret_cast<std::uintptr_t>(w + k * kSize) +
            static_cast<std::uintptr_t>(o * row_bytes));
    }
    for (std::int64_t l = 0; l < kLine; l += Vec::kLanes) {
      stored_lanes<R, O, D>(x + k + l, p.x_stride, w + (k + l) * kSize, row_bytes, sums);
    }
  }
  for (; k + Vec::kLanes <= t.depth; k += Vec::kLanes) {
    stored_lanes<R, O, D>(x + k, p.x_stride, w + k * kSize, row_bytes, sums);
  }
  if (k < t.depth)
    stored_rest<R, O, D>(x + k, p.x_stride, w + k * kSize, row_bytes, t.depth - k, sums);
  reduce_tile<R, O>(sums, p.y + t.row * p.y_stride + t.out, p.y_stride, t.accumulate);
}

/// One step of all rows against O outputs: groups, threes, and twos where one would be left.
template <int O, DType D>
inline void stored_rows(const DotStored& p, StoredTile tile) {
  const auto left = [&] { return p.rows - tile.row; };
  for (; Vec::kGroup > 3 && left() >= Vec::kGroup; tile.row += Vec::kGroup, tile.fetch_next = false)
    stored_tile<Vec::kGroup, O, D>(p, tile);
  for (; left() >= 3 && left() != 4; tile.row += 3, tile.fetch_next = false)
    stored_tile<3, O, D>(p, tile);
  for (; left() >= 2; tile.row += 2, tile.fetch_next = false) stored_tile<2, O, D>(p, tile);
  if (left() == 1) stored_tile<1, O, D>(p, tile);
}

/// Four outputs at a time over their whole length: memory is read in long runs, and every group of
/// rows passes over a step of the weights while it lies in the first-level cache.
template <DType D>
inline void stored_direct(const DotStored& p) {
  std::int64_t out = 0;
  for (; out + 4 <= p.outs; out += 4) {
    for (std::int64_t first = 0; first < p.in; first += kDotStep) {
      stored_rows<4, D>(p, {0, out, first, at_most(p.in - first, kDotStep), first > 0, true});
    }
  }
  for (; out < p.outs; ++out) {
    for (std::int64_t first = 0; first < p.in; first += kDotStep) {
      stored_rows<1, D>(p, {0, out, first, at_most(p.in - first, kDotStep), first > 0, true});
    }
  }
}

using FloatPanel = GroupPanel<Vec::kGroup>;

/// One step of the first R rows of a group against O widened outputs. `p.groups` are floats.
template <int R, int O>
inline void group_tile(const FloatPanel& p, const float* panel, std::int64_t row, std::int64_t col,
                       Vec (&sums)[R][O]) {
  const float* a = static_cast<const float*>(p.groups) + p.group_at(row) * Vec::kLanes;
  const float* w = panel + p.output_at(col) * Vec::kLanes;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Vec::zero();
  }
  in_fours(p.vectors, [&](std::int64_t k) __attribute__((always_inline)) {
    Vec x[R];
    for (int r = 0; r < R; ++r) x[r] = Vec::load(a + (k * Vec::kGroup + r) * Vec::kLanes);
    for (int o = 0; o < O; ++o) {
      const Vec weight = Vec::load(w + (k * kTileOuts + o) * Vec::kLanes);
      for (int r = 0; r < R; ++r) sums[r][o] = Vec::fma(x[r], weight, sums[r][o]);
    }
  });
}

/// Groups of rows of one step times a panel of widened weights, into (or added to) c.
inline void float_panel(const FloatPanel& p, const float* panel, const Ahead& weights, float* c,
                        std::int64_t c_stride, bool accumulate) {
  group_panel(p, weights, [&]<int R, int O>(std::int64_t row, std::int64_t col) {
    Vec sums[R][O];
    group_tile<R, O>(p, panel, row, col, sums);
    reduce_tile<R, O>(sums, c + row * c_stride + col, c_stride, accumulate);
  });
}

/// Widened values of one stored row into a panel, zeros behind them.
template <DType D>
inline void widen_to_panel(const std::byte* source, std::int64_t n, float* out) {
  constexpr std::int64_t kSize = dtype_size(D);
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= n; k += Vec::kLanes, out += kTileOuts * Vec::kLanes)
    Vec::load_stored<D>(source + k * kSize).store(out);
  if (k == n) return;
  std::byte rest[Vec::kLanes * kSize] = {};
  __builtin_memcpy(rest, source + k * kSize, static_cast<std::size_t>((n - k) * kSize));
  Vec::load_stored<D>(rest).store(out);
}

/// Groups of rows against panels of outputs, widened step by step into scratch that stays in the
/// first-level cache. The rows of a step stay in the second-level cache meanwhile.
template <DType D>
inline void stored_grouped(const DotStored& p) {
  constexpr std::int64_t kSize = dtype_size(D);
  alignas(64) float scratch[kPanelOuts * kDotStep];
  const std::int64_t row_bytes = p.in * kSize;
  for (std::int64_t first = 0; first < p.in; first += kDotStep) {
    const std::int64_t depth = at_most(p.in - first, kDotStep),
                       vectors = (depth + Vec::kLanes - 1) / Vec::kLanes;
    for (std::int64_t out = 0; out < p.outs; out += kPanelOuts) {
      const std::int64_t outs = at_most(p.outs - out, kPanelOuts);
      const std::byte* w = p.w + out * row_bytes + first * kSize;
      for (std::int64_t o = 0; o < outs; ++o)
        widen_to_panel<D>(w + o * row_bytes, depth, scratch + panel_row(o, vectors) * Vec::kLanes);
      const bool last = out + outs == p.outs;
      const std::int64_t ahead = last ? depth * kSize - out * row_bytes : outs * row_bytes;
      float_panel({p.groups + groups_at<Vec::kGroup>(p.rows, first), p.rows, outs, vectors},
                  scratch,
                  {reinterpret_cast<std::uintptr_t>(w) + static_cast<std::uintptr_t>(ahead), outs,
                   depth * kSize / 64 + 1, row_bytes},
                  p.y + out, p.y_stride, first > 0);
    }
  }
}

template <DType D>
inline void stored_type(const DotStored& p) {
  if (p.groups == nullptr) {
    stored_direct<D>(p);
  } else {
    stored_grouped<D>(p);
  }
  add_bias(p);
}

void dot_stored(const DotStored& p) {
  if (p.dtype == DType::bf16) return stored_type<DType::bf16>(p);
  if (p.dtype == DType::f16) return stored_type<DType::f16>(p);
  stored_type<DType::f32>(p);
}

/// R rows, V vectors of columns; with `count` < V·kLanes (V = 1) only the first `count` columns.
template <int R, int V>
inline void mix_tile(const MixPanel& p, std::int64_t row, std::int64_t col, std::int64_t count) {
  const float* a = p.a + row * p.a_row;
  const float* b = p.b + col;
  float* c = p.c + row * p.c_stride + col;
  const bool whole = count == V * Vec::kLanes;
  Vec sums[R][V];
#pragma GCC unroll 6  // here and below, or the sums pass through memory
  for (int r = 0; r < R; ++r) {
    const float keep = p.row_scale != nullptr ? p.row_scale[row + r] : p.scale;
    for (int v = 0; v < V; ++v) {
      const float* old = c + r * p.c_stride + v * Vec::kLanes;
      sums[r][v] = Vec::zero();
      if (keep != 0.0F)
        sums[r][v] = Vec::mul(whole ? Vec::load(old) : Vec::load_first(old, count), Vec::all(keep));
    }
  }
  for (std::int64_t k = 0; k < p.depth; ++k) {
    Vec line[V];
    for (int v = 0; v < V; ++v) {
      const float* from = b + k * p.b_stride + v * Vec::kLanes;
      line[v] = whole ? Vec::load(from) : Vec::load_first(from, count);
    }
    for (int r = 0; r < R; ++r) {
      const Vec factor = Vec::all(a[r * p.a_row + k * p.a_col]);
      for (int v = 0; v < V; ++v) sums[r][v] = Vec::fma(factor, line[v], sums[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      float* target = c + r * p.c_stride + v * Vec::kLanes;
      if (whole)
        sums[r][v].store(target);
      else
        sums[r][v].store_first(target, count);
    }
  }
}

template <int R, int V>
inline void mix_rows(const MixPanel& p, std::int64_t row) {
  std::int64_t col = 0;
  for (; col + V * Vec::kLanes <= p.cols; col += V * Vec::kLanes)
    mix_tile<R, V>(p, row, col, V * Vec::kLanes);
  for (; col < p.cols; col += Vec::kLanes) {
    mix_tile<R, 1>(p, row, col, p.cols - col < Vec::kLanes ? p.cols - col : Vec::kLanes);
  }
}

void mix_panel(const MixPanel& p) {
  std::int64_t row = 0;
  // Twelve sums in registers, as six rows by two vectors or four by three, whichever divides.
  if (p.cols % (2 * Vec::kLanes) != 0 && p.cols % (3 * Vec::kLanes) == 0) {
    for (; row + 4 <= p.rows; row += 4) mix_rows<4, 3>(p, row);
  }
  for (; row + 6 <= p.rows; row += 6) mix_rows<6, 2>(p, row);
  switch (p.rows - row) {
    case 5:
      return mix_rows<5, 2>(p, row);
    case 4:
      return mix_rows<4, 2>(p, row);
    case 3:
      return mix_rows<3, 4>(p, row);
    case 2:
      return mix_rows<2, 4>(p, row);
    case 1:
      return mix_rows<1, 4>(p, row);
    default:
      return;
  }
}

/// Both products with the old state in one pass over it, the update in a second: o = decay·Sᵀq +
/// (k·q) d.
void delta_step(const DeltaStep& p) {
  constexpr int kVecs = kDeltaColumns / Vec::kLanes;
  Vec seen[kVecs];
  Vec asked[kVecs];
  for (int v = 0; v < kVecs; ++v) seen[v] = asked[v] = Vec::zero();
  float overlap = 0;
  for (std::int64_t k = 0; k < p.key_dim; ++k) {
    const Vec key = Vec::all(p.k[k]);
    const Vec query = Vec::all(p.q[k]);
    overlap += p.k[k] * p.q[k];
    for (int v = 0; v < kVecs; ++v) {
      const Vec state = Vec::load(p.state + k * p.stride + v * Vec::kLanes);
      seen[v] = Vec::fma(state, key, seen[v]);
      asked[v] = Vec::fma(state, query, asked[v]);
    }
  }
  const Vec decay = Vec::all(p.decay);
  Vec change[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    const Vec error = Vec::sub(Vec::load(p.v + v * Vec::kLanes), Vec::mul(decay, seen[v]));
    change[v] = Vec::mul(Vec::all(p.beta), error);
    Vec::fma(Vec::all(overlap), change[v], Vec::mul(decay, asked[v]))
        .store(p.out + v * Vec::kLanes);
  }
  for (std::int64_t k = 0; k < p.key_dim; ++k) {
    const Vec key = Vec::all(p.k[k]);
    for (int v = 0; v < kVecs; ++v) {
      float* state = p.state + k * p.stride + v * Vec::kLanes;
      Vec::fma(key, change[v], Vec::mul(decay, Vec::load(state))).store(state);
    }
  }
}
