// Included once by every vector set, inside its region, after packed.inc.hpp: products of rounded
// activations with the integer form of weights packed as bytes. All sums of a step are exact, so
// every set and every register tile gives the same bits. Codes of 4 bits: nibbles.inc.hpp.
//
// A set reads a chunk of kIntegerChunk codes as one Ints or more, in whatever order of its columns
// is cheap (the order may differ between kinds of codes); rounded activations are stored in that
// order.

constexpr std::int64_t kChunkInts = kIntegerChunk / Ints::kLanes;

/// A kind of codes, known to the compiler: its zero point is the middle, or is stored.
template <PackedCode C, bool Stored>
struct Codes {
  static constexpr PackedCode kCode = C;
  static constexpr bool kStoredZero = Stored;
};

constexpr std::uint8_t kMiddleByte = 128;

/// Calls f(kind) for the codes of a weight.
template <class F>
inline void with_kind(const PackedWeight& w, const F& f) {
  if (w.code == PackedCode::i8) return f(Codes<PackedCode::i8, false>{});
  if (w.zeros != nullptr || w.zero != kMiddleByte) return f(Codes<PackedCode::u8, true>{});
  f(Codes<PackedCode::u8, false>{});
}

/// Rounded activations from column `k` of row `row` on.
inline const std::int16_t* activations(const DotIntegers& p, std::int64_t row, std::int64_t k) {
  return reinterpret_cast<const std::int16_t*>(p.x + row * p.x_stride) + k;
}

/// The rows from `rows` on.
inline void next_rows(DotIntegers& p, std::int64_t rows) {
  p.x += rows * p.x_stride;
  p.x_scales += rows * p.steps;
  p.y += rows * p.y_stride;
  p.rows -= rows;
}

/// Ratio and zero point of a run of columns of one output, in every lane.
struct Ratio {
  Ints ratio, zero;
};

template <class Kind>
inline Ratio ratio_at(const PackedWeight& w, std::int64_t index) {
  Ratio r{Ints::all(w.integers.ratios[index]), Ints::zero()};
  if constexpr (Kind::kStoredZero)
    r.zero = Ints::all(static_cast<std::int16_t>(w.zeros != nullptr ? w.zeros[index] : w.zero));
  return r;
}

/// The integers of a chunk.
template <class Kind>
inline void integer_chunk(const std::byte* codes, const Ratio& r, Ints (&out)[kChunkInts]) {
  Ints::load_codes<Kind>(codes, r.zero, out);
  for (Ints& part : out) part = Ints::scaled(part, r.ratio);
}

/// What a register tile works on.
struct IntegerTile {
  std::int64_t row = 0, out = 0;      ///< its first row, and its first output within p.outs
  std::int64_t first = 0, depth = 0;  ///< the step
};

/// y[0, O) = total · (scale · scales), or that added to it.
template <int O>
inline void add_step(const float* total, float scale, const float* scales, bool first, float* y) {
  if constexpr (O == 4) {
    Four sums, factors, old;
    __builtin_memcpy(&sums, total, sizeof sums);
    __builtin_memcpy(&factors, scales, sizeof factors);
    sums *= scale * factors;
    if (!first) {
      __builtin_memcpy(&old, y, sizeof old);
      sums = old + sums;
    }
    __builtin_memcpy(y, &sums, sizeof sums);
    return;
  }
  for (int o = 0; o < O; ++o) {
    const float part = total[o] * (scale * scales[o]);
    y[o] = first ? part : y[o] + part;
  }
}

/// Adds a step's sums, scaled, to y.
template <int R, int O>
inline void finish_step(const DotIntegers& p, const IntegerTile& t, const Ints (&sums)[R][O]) {
  const std::int64_t step = t.first / kDotStep;
  const float* scales =
      p.w->integers.steps + step * p.w->integers.step_stride + p.first_out + t.out;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float total[4];
    const Ints none = Ints::zero();
    Ints::reduce4(sums[r][0], O > 1 ? sums[r][O > 1 ? 1 : 0] : none,
                  O > 2 ? sums[r][O > 2 ? 2 : 0] : none, O > 3 ? sums[r][O > 3 ? 3 : 0] : none,
                  total);
    add_step<O>(total, p.x_scales[(t.row + r) * p.steps + step], scales, t.first == 0,
                p.y + (t.row + r) * p.y_stride + t.out);
  }
}

/// Adds the products of one chunk of an output's codes with R rows.
template <int R, int O, class Kind>
inline void add_chunk(const std::int16_t* x, std::int64_t x_stride, const std::byte* codes,
                      const Ratio& ratio, int o, Ints (&sums)[R][O]) {
  Ints integers[kChunkInts];
  integer_chunk<Kind>(codes, ratio, integers);
  for (int r = 0; r < R; ++r) {
    const std::int16_t* row = x + r * x_stride;
    for (std::int64_t i = 0; i < kChunkInts; ++i) {
      Ints::add_products(Ints::load(row + i * Ints::kLanes), integers[i], sums[r][o]);
    }
  }
}

/// What one step of R rows against O packed rows reads.
template <int O>
struct CodeRows {
  const std::byte* codes = nullptr;  ///< of the first output at the first column of the step
  std::int64_t row_bytes = 0;
  std::int64_t ratios[O] = {};      ///< index of each output's first ratio of the step
  const std::int16_t* x = nullptr;  ///< the first row at the same column
  std::int64_t x_stride = 0;
  std::uintptr_t ahead = 0;  ///< outputs behind these: asked for meanwhile
};

/// Adds the products of `chunks` chunks from `begin` on that share the `group`-th ratio.
template <int R, int O, class Kind>
inline void add_group(const PackedWeight& w, const CodeRows<O>& rows, std::int64_t group,
                      std::int64_t begin, std::int64_t chunks, Ints (&sums)[R][O]) {
  constexpr std::int64_t kLine = 64;
  Ratio ratios[O];
#pragma GCC unroll 4
  for (int o = 0; o < O; ++o) ratios[o] = ratio_at<Kind>(w, rows.ratios[o] + group);
  for (std::int64_t c = begin; c < begin + chunks; ++c) {
    for (std::int64_t line = 0; line < O * kIntegerChunk; line += kLine)
      fetch(rows.ahead + static_cast<std::uintptr_t>(c * O * kIntegerChunk + line));
    const std::byte* codes = rows.codes + c * kIntegerChunk;
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) {
      add_chunk<R, O, Kind>(rows.x + c * kIntegerChunk, rows.x_stride, codes + o * rows.row_bytes,
                            ratios[o], o, sums);
    }
  }
}

/// One step of R rows against O packed rows, straight from the codes. Groups are whole chunks and
/// begin with the step, or hold all of it.
template <int R, int O, class Kind>
inline void codes_tile(const DotIntegers& p, const IntegerTile& t) {
  const PackedWeight& w = *p.w;
  CodeRows<O> rows{code_at<Kind::kCode>(w.row(p.first_out + t.out), t.first),
                   w.row_bytes,
                   {},
                   activations(p, t.row, t.first),
                   p.x_stride / activation_bytes(Kind::kCode)};
  rows.ahead = reinterpret_cast<std::uintptr_t>(w.row(p.first_out + t.out)) +
               static_cast<std::uintptr_t>(bytes_ahead(O * w.row_bytes) + O * t.first);
  for (int o = 0; o < O; ++o) rows.ratios[o] = w.group_of(p.first_out + t.out + o, t.first);
  Ints sums[R][O];
#pragma GCC unroll 4  // or the sums pass through memory
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Ints::zero();
  }
  const std::int64_t chunks = t.depth / kIntegerChunk;
  if (w.group_cols == kIntegerChunk) {
    for (std::int64_t c = 0; c < chunks; ++c) add_group<R, O, Kind>(w, rows, c, c, 1, sums);
  } else {
    const std::int64_t most = w.group_cols / kIntegerChunk;
    for (std::int64_t c = 0, group = 0; c < chunks; c += most, ++group)
      add_group<R, O, Kind>(w, rows, group, c, at_most(most, chunks - c), sums);
  }
  // The end of the row; activations are zero behind it.
  const std::int64_t end = chunks * kIntegerChunk, rest = t.depth - end;
  for (int o = 0; o < O && rest > 0; ++o) {
    std::byte copy[kIntegerChunk] = {};
    __builtin_memcpy(copy, rows.codes + o * w.row_bytes + chunks * kIntegerChunk,
                     static_cast<std::size_t>(rest));
    const std::int64_t index = w.group_of(p.first_out + t.out + o, t.first + end);
    add_chunk<R, O, Kind>(rows.x + end, rows.x_stride, copy, ratio_at<Kind>(w, index), o, sums);
  }
  finish_step<R, O>(p, t, sums);
}

/// A few rows: four outputs at a time over their whole length, so that memory is read in long runs.
template <int R, class Kind>
inline void codes_direct(const DotIntegers& p) {
  std::int64_t out = 0;
  for (; out + 4 <= p.outs; out += 4) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      codes_tile<R, 4, Kind>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
  for (; out < p.outs; ++out) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      codes_tile<R, 1, Kind>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
}

/// The integers of one step of an output into a panel, padded to whole chunks.
template <class Kind>
inline void unpack_integers(const PackedWeight& w, std::int64_t out, std::int64_t first,
                            std::int64_t depth, std::int16_t* to) {
  constexpr std::int64_t kApart = kTileOuts * Ints::kLanes;
  const std::byte* row = w.row(out);
  const std::int64_t end = first + depth;
  for (std::int64_t k = first; k < end; k += kIntegerChunk, to += kChunkInts * kApart) {
    const Ratio ratio = ratio_at<Kind>(w, w.group_of(out, k));
    Ints integers[kChunkInts];
    if (k + kIntegerChunk <= end) {
      integer_chunk<Kind>(code_at<Kind::kCode>(row, k), ratio, integers);
    } else {
      std::byte rest[kIntegerChunk] = {};
      __builtin_memcpy(rest, code_at<Kind::kCode>(row, k), static_cast<std::size_t>(end - k));
      integer_chunk<Kind>(rest, ratio, integers);
    }
    for (std::int64_t i = 0; i < kChunkInts; ++i) integers[i].store(to + i * kApart);
  }
}

using IntegerPanel = GroupPanel<Ints::kGroup>;

/// One step of the first R rows of a group against O unpacked outputs. Both are padded to whole
/// chunks, in which columns may lie in any order. A function of its own: the compiler keeps its
/// sums in registers then.
template <int R, int O>
[[gnu::noinline]] void integers_tile(const DotIntegers& p, const IntegerPanel& groups,
                                     const std::int16_t* panel, std::int64_t col,
                                     const IntegerTile& t) {
  const auto* a =
      static_cast<const std::int16_t*>(groups.groups) + groups.group_at(t.row) * Ints::kLanes;
  const std::int16_t* w = panel + groups.output_at(col) * Ints::kLanes;
  Ints sums[R][O];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Ints::zero();
  }
  in_fours(groups.vectors, [&](std::int64_t k) __attribute__((always_inline)) {
    Ints x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = Ints::load(a + (k * Ints::kGroup + r) * Ints::kLanes);
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) {
      const Ints weight = Ints::load(w + (k * kTileOuts + o) * Ints::kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) Ints::add_products(x[r], weight, sums[r][o]);
    }
  });
  finish_step<R, O>(p, t, sums);
}

/// Many rows, in groups: panels of outputs, unpacked step by step into scratch that stays in the
/// first-level cache.
template <class Kind>
inline void codes_grouped(const DotIntegers& p) {
  alignas(64) std::int16_t scratch[kPanelOuts * kDotStep];
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    const std::int64_t depth = at_most(p.w->in - first, kDotStep);
    const std::int64_t vectors =
        (depth + kIntegerChunk - 1) / kIntegerChunk * (kIntegerChunk / Ints::kLanes);
    for (std::int64_t out = 0; out < p.outs; out += kPanelOuts) {
      const std::int64_t outs = at_most(p.outs - out, kPanelOuts);
      for (std::int64_t o = 0; o < outs; ++o) {
        unpack_integers<Kind>(*p.w, p.first_out + out + o, first, depth,
                              scratch + panel_row(o, vectors) * Ints::kLanes);
      }
      const IntegerPanel panel{
          reinterpret_cast<const std::int16_t*>(p.groups) + groups_at<Ints::kGroup>(p.rows, first),
          p.rows, outs, vectors};
      group_panel(panel, {}, [&]<int R, int O>(std::int64_t row, std::int64_t col) {
        integers_tile<R, O>(p, panel, scratch, col, {row, out + col, first, depth});
      });
    }
  }
}

/// Few rows, two at a time, from the codes.
template <class Kind>
inline void codes_of_rows(DotIntegers p) {
  for (; p.rows >= 2; next_rows(p, 2)) codes_direct<2, Kind>(p);
  if (p.rows == 1) codes_direct<1, Kind>(p);
}

/// Greatest magnitude; NaN if a value is not finite.
inline float greatest_magnitude(const float* x, std::int64_t n) {
  Vec most = Vec::zero(), odd = Vec::zero();
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= n; k += Vec::kLanes) {
    const Vec v = Vec::load(x + k);
    most = Vec::at_least(Vec::absolute(v), most);
    odd = Vec::add(odd, Vec::sub(v, v));  // 0, or NaN
  }
  if (k < n) {
    const Vec v = Vec::load_first(x + k, n - k);
    most = Vec::at_least(Vec::absolute(v), most);
    odd = Vec::add(odd, Vec::sub(v, v));
  }
  alignas(64) float lanes[Vec::kLanes], odds[Vec::kLanes];
  most.store(lanes);
  odd.store(odds);
  float greatest = 0, sum = 0;
  for (std::int64_t l = 0; l < Vec::kLanes; ++l) {
    greatest = lanes[l] > greatest ? lanes[l] : greatest;
    sum += odds[l];
  }
  return sum == 0 ? greatest : __builtin_nanf("");
}

/// One step of a row to 16-bit integers, whole chunks.
inline void round_chunks(const float* x, std::int64_t n, float inverse, std::int16_t* out) {
  const Vec factor = Vec::all(inverse);
  std::int64_t k = 0;
  for (; k + kIntegerChunk <= n; k += kIntegerChunk) Ints::round_chunk(x + k, factor, out + k);
  if (k == n) return;
  alignas(64) float rest[kIntegerChunk] = {};
  __builtin_memcpy(rest, x + k, static_cast<std::size_t>(n - k) * sizeof(float));
  Ints::round_chunk(rest, factor, out + k);
}
