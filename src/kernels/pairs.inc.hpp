// Included by every file that multiplies pairs of bfloat16 in vectors, inside its namespace, after
// its types PairLine (32 values) and PairSums (16 sums, as bf16_twin.cpp defines them): laying rows
// out, register tiles of four rows by four outputs, and the way through a product. TileProduct with
// the sums of kPlainPairs; how rows and outputs are grouped alters no bit.

constexpr std::int64_t kPairRows = 4, kPairOuts = 4;  // of a register tile: sixteen sums
constexpr std::int64_t kLineValues = 32, kValueBytes = sizeof(bf16),
                       kLineBytes = kLineValues * kValueBytes;
/// Columns of a step, after which sums leave the registers. A panel of weights of a step is 16 KiB,
/// the rows of a register tile 8: both lie in the first-level cache.
constexpr std::int64_t kPairStep = 1024, kPairPanel = 8;
static_assert(kTileSide % kPairRows == 0 && kTileDepth == kLineValues);
static_assert(kPairPanel % kPairOuts == 0 && kTileOutputs % kPairPanel == 0);

constexpr std::int64_t lines_of(std::int64_t columns) {
  return (columns + kLineValues - 1) / kLineValues;
}

/// kLineValues of a row, or as many as there are and zeros.
inline PairLine round_line(const float* x, std::int64_t count) {
  if (count >= kLineValues) return PairLine::round(x);
  float last[kLineValues] = {};
  __builtin_memcpy(last, x, static_cast<std::size_t>(count) * sizeof *x);
  return PairLine::round(last);
}

/// Groups of kPairRows rows (the last may have less): [line][rows of the group][kLineValues].
void lay_rows(const TileRows& p) {
  bf16* out = p.out;
  for (std::int64_t first = 0; first < p.rows; first += kPairRows) {
    const std::int64_t end = at_most(first + kPairRows, p.rows);
    for (std::int64_t k = 0; k < p.in; k += kLineValues) {
      for (std::int64_t r = first; r < end; ++r, out += kLineValues)
        round_line(p.x + r * p.x_stride + k, p.in - k).store(out);
    }
  }
}

/// Weights of kPairOuts outputs: bytes between outputs, and between lines.
struct WeightLines {
  const std::byte* first = nullptr;
  std::int64_t between_outs = 0, between_lines = 0;
};

/// Adds the products of so many lines of R rows, which lie line by line, and kPairOuts outputs.
template <int R>
inline void add_lines(const bf16* x, const WeightLines& w, std::int64_t lines,
                      PairSums (&sums)[R][kPairOuts]) {
  const std::byte* line = w.first;
  for (std::int64_t k = 0; k < lines; ++k, x += R * kLineValues, line += w.between_lines) {
    PairLine row[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) row[r] = PairLine::load(x + r * kLineValues);
#pragma GCC unroll 4
    for (int o = 0; o < kPairOuts; ++o) {
      const PairLine weight = PairLine::load(line + o * w.between_outs);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[r][o].add_products(row[r], weight);
    }
  }
}

template <int R>
inline void clear(PairSums (&sums)[R][kPairOuts]) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < kPairOuts; ++o) sums[r][o] = PairSums::all(0);
  }
}

/// The sums of a step into y, or added to it; `outs` <= kPairOuts of them.
template <int R>
inline void store_sums(const PairSums (&sums)[R][kPairOuts], float* y, std::int64_t stride,
                       std::int64_t outs, bool accumulate) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    FourFloats whole = PairSums::fold(sums[r]);
    float* to = y + r * stride;
    const std::size_t bytes = static_cast<std::size_t>(outs) * sizeof *to;
    if (accumulate) {
      FourFloats before = {};
      __builtin_memcpy(&before, to, bytes);
      whole += before;
    }
    __builtin_memcpy(to, &whole, bytes);
  }
}

/// The same, with a number of outputs that the compiler knows where all are there.
template <int R>
inline void finish(const PairSums (&sums)[R][kPairOuts], float* y, std::int64_t stride,
                   std::int64_t outs, bool accumulate) {
  if (outs == kPairOuts) return store_sums<R>(sums, y, stride, kPairOuts, accumulate);
  store_sums<R>(sums, y, stride, outs, accumulate);
}

/// One step of a product.
struct PairStep {
  std::int64_t first = 0, depth = 0;
};

/// Where the rows [row, row + rows) have a step.
inline const bf16* laid_rows(const TileProduct& p, std::int64_t row, std::int64_t rows,
                             const PairStep& step) {
  return p.x + row * tile_stride(p.in) + rows * step.first;
}

/// One step of the weights of outputs [out, out + outs) as [outs / 4][line][4][32], zeros behind
/// the last output and column.
inline void fill_panel(const TileProduct& p, const PairStep& step, std::int64_t out,
                       std::int64_t outs, std::byte* panel) {
  const std::int64_t lines = lines_of(step.depth), whole = step.depth / kLineValues,
                     rest = step.depth % kLineValues;
  const std::int64_t blocks = (outs + kPairOuts - 1) / kPairOuts;
  if (outs < blocks * kPairOuts || rest > 0)
    __builtin_memset(panel, 0, static_cast<std::size_t>(blocks * kPairOuts * lines * kLineBytes));
  for (std::int64_t o = 0; o < outs; ++o) {
    std::byte* to = panel + (o / kPairOuts * lines * kPairOuts + o % kPairOuts) * kLineBytes;
    const std::byte* from = p.w + ((out + o) * p.in + step.first) * kValueBytes;
    for (std::int64_t k = 0; k < whole; ++k, from += kLineBytes, to += kPairOuts * kLineBytes)
      PairLine::load(from).store(to);
    __builtin_memcpy(to, from, static_cast<std::size_t>(rest * kValueBytes));
  }
}

/// Asks for cache lines of memory that will be read later. The address may lie behind the last
/// weight (so it is no pointer); this never faults.
struct LinesAhead {
  std::uintptr_t first = 0;
  std::int64_t rows = 0, lines = 0, between_rows = 0;

  /// Into the first-level cache: a panel is filled from them soon (Zen 4: 88 % of the peak, 77 %
  /// from the second level).
  void ask(std::int64_t from, std::int64_t to) const {
    constexpr int kLocality = 3;
    for (std::int64_t i = from; i < at_most(to, rows * lines); ++i) {
      const std::int64_t at = i / lines * between_rows + i % lines * kLineBytes;
      __builtin_prefetch(reinterpret_cast<const void*>(first + static_cast<std::uintptr_t>(at)), 0,
                         kLocality);
    }
  }
};

/// Where the sums of a register tile go.
struct TileSums {
  float* y = nullptr;
  std::int64_t stride = 0, outs = 0;
  bool accumulate = false;
};

/// One step of R rows and of kPairOuts outputs of a panel. Not part of the loops around it, where
/// GCC 12 moves the sums between registers with every line.
template <int R>
[[gnu::noinline]] void panel_tile(const bf16* x, const std::byte* panel, std::int64_t lines,
                                  const TileSums& to) {
  PairSums sums[R][kPairOuts];
  clear<R>(sums);
  add_lines<R>(x, {panel, kLineBytes, kPairOuts * kLineBytes}, lines, sums);
  finish<R>(sums, to.y, to.stride, to.outs, to.accumulate);
}

/// All rows times a panel, which is ready; asks for what the next panel is made from meanwhile.
inline void multiply_panel(const TileProduct& p, const PairStep& step, std::int64_t out,
                           std::int64_t outs, const std::byte* panel, const LinesAhead& ahead) {
  const std::int64_t lines = lines_of(step.depth), groups = (p.rows + kPairRows - 1) / kPairRows,
                     share = (ahead.rows * ahead.lines + groups - 1) / groups;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t row = group * kPairRows, rows = at_most(kPairRows, p.rows - row);
    ahead.ask(group * share, (group + 1) * share);
    with_count(rows, [&]<int R>() {
      for (std::int64_t o = 0; o < outs; o += kPairOuts) {
        panel_tile<R>(laid_rows(p, row, R, step), panel + o * lines * kLineBytes, lines,
                      {p.y + row * p.y_stride + out + o, p.y_stride, at_most(kPairOuts, outs - o),
                       step.first > 0});
      }
    });
  }
}

/// Many rows: step by step, panel by panel. The rows of a step stay in the second-level cache.
inline void multiply_panels(const TileProduct& p, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte panel[kPairPanel * kPairStep * kValueBytes];
  for (PairStep step; step.first < p.in; step.first += kPairStep) {
    step.depth = at_most(kPairStep, p.in - step.first);
    for (std::int64_t out = begin; out < end; out += kPairPanel) {
      const std::int64_t outs = at_most(kPairPanel, end - out);
      fill_panel(p, step, out, outs, panel);
      const bool last = out + outs == end;
      const std::int64_t next =
          ((last ? begin : out + outs) * p.in + step.first + (last ? step.depth : 0)) * kValueBytes;
      multiply_panel(p, step, out, outs, panel,
                     {reinterpret_cast<std::uintptr_t>(p.w) + static_cast<std::uintptr_t>(next),
                      kPairPanel, lines_of(step.depth), p.in * kValueBytes});
    }
  }
}

/// Steps whose sums wait for those of the other outputs.
constexpr std::int64_t kStepsTogether = 8;

/// One step of R rows and one output, whose weights are read as they are stored.
template <int R>
inline void add_stored(const bf16* x, const std::byte* w, std::int64_t columns,
                       PairSums (&sums)[R]) {
  constexpr std::int64_t kAhead = 2048;  // bytes: crosses a page before the row does
  const std::int64_t whole = columns / kLineValues, rest = columns % kLineValues;
  const auto add = [&](const std::byte* line) __attribute__((always_inline)) {
    const PairLine weight = PairLine::load(line);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[r].add_products(PairLine::load(x + r * kLineValues), weight);
    x += R * kLineValues;
  };
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sums[r] = PairSums::all(0);
  for (std::int64_t k = 0; k < whole; ++k, w += kLineBytes) {
    fetch(reinterpret_cast<std::uintptr_t>(w) + kAhead);
    add(w);
  }
  if (rest == 0) return;
  std::byte last[kLineBytes] = {};
  __builtin_memcpy(last, w, static_cast<std::size_t>(rest * kValueBytes));
  add(last);
}

/// Up to kPairRows rows times kPairOuts outputs, from the weights as they are stored: one output
/// after the other over its whole length, so that memory is read in one run (Zen 4: one and a half
/// times as fast on one thread as four runs beside each other).
template <int R>
inline void multiply_stored(const TileProduct& p, std::int64_t out) {
  constexpr std::int64_t kColumns = kStepsTogether * kPairStep;
  PairSums sums[kStepsTogether][R][kPairOuts];
  for (std::int64_t begin = 0; begin < p.in; begin += kColumns) {
    const std::int64_t end = at_most(p.in, begin + kColumns);
    for (std::int64_t o = 0; o < kPairOuts; ++o) {
      const std::byte* w = p.w + ((out + o) * p.in + begin) * kValueBytes;
      PairStep step{begin, 0};
      for (std::int64_t s = 0; step.first < end; ++s, step.first += kPairStep) {
        step.depth = at_most(kPairStep, end - step.first);
        PairSums of_output[R];
        add_stored<R>(laid_rows(p, 0, R, step), w + s * kPairStep * kValueBytes, step.depth,
                      of_output);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sums[s][r][o] = of_output[r];
      }
    }
    for (std::int64_t s = 0; begin + s * kPairStep < end; ++s)
      finish<R>(sums[s], p.y + out, p.y_stride, kPairOuts, begin + s > 0);
  }
}

void multiply_pairs(const TileProduct& p) {
  std::int64_t out = 0;
  if (p.rows <= kPairRows) {
    with_count(p.rows, [&]<int R>() {
      for (; out + kPairOuts <= p.outs; out += kPairOuts) multiply_stored<R>(p, out);
    });
  }
  multiply_panels(p, out, p.outs);
  add_bias(p);
}

/// Independent products of pairs in registers.
double multiply_add_pairs(std::int64_t rounds) {
  PairSums sums[kPairRows][kPairOuts];
  float start = 0;  // alike, the compiler would compute one for all
#pragma GCC unroll 4
  for (int r = 0; r < kPairRows; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < kPairOuts; ++o) sums[r][o] = PairSums::all(start += 1);
  }
  const bf16 zeros[kLineValues] = {};
  const PairLine line = PairLine::load(zeros);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < kPairRows; ++r) {
#pragma GCC unroll 4
      for (int o = 0; o < kPairOuts; ++o) sums[r][o].add_products(line, line);
    }
  }
  float kept[kPairRows][kPairOuts];
  finish<kPairRows>(sums, kept[0], kPairOuts, kPairOuts, false);
  float all = 0;  // or sums that nobody reads would not be computed
  for (const auto& row : kept) {
    for (const float sum : row) all += sum;
  }
  constexpr std::int64_t kOperations = 2 * kPairRows * kPairOuts * kLineValues;
  return static_cast<double>(rounds * kOperations) + 0 * static_cast<double>(all);
}

constexpr TileProducts kPairProducts{
    .lay_rows = lay_rows, .multiply = multiply_pairs, .multiply_adds = multiply_add_pairs};
