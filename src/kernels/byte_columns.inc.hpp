// Included by a vector set that multiplies bytes in one instruction, inside its region, after
// bytes.inc.hpp: products of bytes for many rows. A panel holds the outputs beside each other, four
// columns of one in every lane, and a row's four bytes are spread over all lanes: sums of a tile
// belong to sixteen outputs, and no lane is ever added to another. All sums are exact modulo 2^32,
// so this gives the bits of every other order.

constexpr std::int64_t kColumnLanes = 16;  // outputs of a vector of sums
constexpr std::int64_t kColumnVectors = 2;
constexpr std::int64_t kColumnOuts = kColumnLanes * kColumnVectors;  // of a panel
constexpr std::int64_t kWord = 4;                                    // columns of a lane
constexpr std::int64_t kMostWords = kDotStep / kWord;
constexpr std::int64_t kMostRatios = kDotStep / kIntegerChunk;  // of an output's step

/// One step of some outputs, zeros behind the last one.
struct ColumnPanel {
  alignas(64) std::byte values[kMostWords * kColumnVectors * kByteRun];  ///< [word][output][kWord]
  alignas(64) std::int32_t ratios[kMostRatios * kColumnOuts];  ///< [group][output], codes of 4 bits
  alignas(64) std::int32_t offsets[kColumnOuts];               ///< what to add to the sums
  alignas(64) float scales[kColumnOuts];
  std::int64_t outs = 0;
  std::int64_t words = 0, group_words = 0;  ///< of the step, and of those that share a ratio

  [[nodiscard]] std::byte* word(std::int64_t word, std::int64_t vector) {
    return values + (word * kColumnVectors + vector) * kByteRun;
  }
};

/// Sixteen outputs into the `vector`-th of a panel: unpack(o, to) writes whole runs of the o-th.
/// Returns kByteMiddle times the sum of each.
template <class Unpack>
inline Bytes fill_columns(ColumnPanel& panel, std::int64_t vector, const Unpack& unpack) {
  alignas(64) std::byte rows[kColumnLanes * kDotStep];
  const std::int64_t outs = at_most(panel.outs - vector * kColumnLanes, kColumnLanes);
  for (std::int64_t o = 0; o < kColumnLanes; ++o) {
    if (o < outs) {
      unpack(vector * kColumnLanes + o, rows + o * kDotStep);
    } else {
      __builtin_memset(rows + o * kDotStep, 0, kDotStep);
    }
  }
  const Bytes middle = Bytes::bytes(kByteMiddle, kByteMiddle);
  Bytes sum = Bytes::zero();
  for (std::int64_t word = 0; word < panel.words; word += kColumnLanes) {
    Bytes block[kColumnLanes];
#pragma GCC unroll 16
    for (int o = 0; o < kColumnLanes; ++o)
      block[o] = Bytes::load(rows + o * kDotStep + word * kWord);
    Bytes::transpose(block);
#pragma GCC unroll 16
    for (int i = 0; i < kColumnLanes; ++i) {
      block[i].store(panel.word(word + i, vector));
      Bytes::add_byte_products(middle, block[i], sum);
    }
  }
  return sum;
}

/// Scales of a panel's outputs, and zeros where it has none.
inline void begin_panel(const DotIntegers& p, const IntegerTile& t, ColumnPanel& panel) {
  const std::int64_t at = t.first / kDotStep * p.w->integers.step_stride + p.first_out + t.out;
  panel.outs = at_most(p.outs - t.out, kColumnOuts);
  panel.words = (t.depth + kByteRun - 1) / kByteRun * kColumnLanes;
  panel.group_words = panel.words;
  for (std::int64_t o = 0; o < kColumnOuts; ++o) {
    panel.scales[o] = o < panel.outs ? p.w->integers.steps[at + o] : 0;
    panel.offsets[o] =
        o < panel.outs && p.w->code == PackedCode::u4 ? p.w->integers.offsets[at + o] : 0;
  }
}

/// Where the codes of the output that lies a panel behind `out` begin: to be asked for.
template <PackedCode C>
inline std::uintptr_t codes_ahead(const DotIntegers& p, const IntegerTile& t, std::int64_t o) {
  return reinterpret_cast<std::uintptr_t>(code_at<C>(p.w->row(p.first_out + t.out + o), t.first)) +
         static_cast<std::uintptr_t>(kColumnOuts * p.w->row_bytes);
}

/// A panel of 8-bit codes.
template <class Kind>
inline void narrow_columns(const DotIntegers& p, const IntegerTile& t, ColumnPanel& panel) {
  begin_panel(p, t, panel);
  for (std::int64_t v = 0; v < kColumnVectors; ++v) {
    const Bytes middles = fill_columns(panel, v, [&](std::int64_t o, std::byte* to) {
      unpack_narrow<Kind>(*p.w, p.first_out + t.out + o, t, codes_ahead<Kind::kCode>(p, t, o), to);
    });
    Bytes::minus_words(Bytes::zero(), middles)
        .store(reinterpret_cast<std::byte*>(panel.offsets + v * kColumnLanes));
  }
}

/// One step of an output of 4-bit codes, less their zero points. What stands behind its end does
/// not matter: activations are zero there.
template <bool Stored>
inline void unpack_halves(const PackedWeight& w, std::int64_t out, const IntegerTile& t,
                          std::uintptr_t ahead, std::byte* to) {
  constexpr std::int64_t kRunBytes = kByteRun / 2;
  const std::byte* codes = code_at<PackedCode::u4>(w.row(out), t.first);
  const int shift = group_shift(w);
  const std::int64_t group = w.group_of(out, t.first), last = (t.depth - 1) / kIntegerChunk;
  for (std::int64_t run = 0; run * kByteRun < t.depth; ++run) {
    fetch(ahead + static_cast<std::uintptr_t>(run * kRunBytes));
    const NibbleScale<Stored> scale(w, group, run * Bytes::kChunks, shift, last);
    const std::byte* from = codes + run * kRunBytes;
    std::byte copy[kRunBytes] = {};
    if (const std::int64_t rest = t.depth - run * kByteRun; rest < kByteRun) {
      __builtin_memcpy(copy, from, static_cast<std::size_t>((rest + 1) / 2));
      from = copy;
    }
    Bytes::load_codes(from, scale.zero).store(to + run * kByteRun);
  }
}

/// A panel of 4-bit codes and their ratios.
template <bool Stored>
inline void nibble_columns(const DotIntegers& p, const IntegerTile& t, ColumnPanel& panel) {
  begin_panel(p, t, panel);
  const int shift = group_shift(*p.w);
  panel.group_words = (kIntegerChunk << shift) / kWord;
  const std::int64_t groups = (((t.depth - 1) / kIntegerChunk) >> shift) + 1;
  for (std::int64_t o = 0; o < kColumnOuts; ++o) {
    const std::int64_t from = o < panel.outs ? p.w->group_of(p.first_out + t.out + o, t.first) : 0;
    for (std::int64_t g = 0; g < groups; ++g)
      panel.ratios[g * kColumnOuts + o] = o < panel.outs ? p.w->integers.ratios[from + g] : 0;
  }
  for (std::int64_t v = 0; v < kColumnVectors; ++v) {
    fill_columns(panel, v, [&](std::int64_t o, std::byte* to) {
      unpack_halves<Stored>(*p.w, p.first_out + t.out + o, t, codes_ahead<PackedCode::u4>(p, t, o),
                            to);
    });
  }
}

/// Adds the sums of one step of R rows, scaled, to y.
template <int R>
inline void finish_columns(const DotIntegers& p, const IntegerTile& t, const ColumnPanel& panel,
                           const Bytes (&sums)[R][kColumnVectors]) {
  const float unit = p.w->code == PackedCode::u4 ? 1 : kNarrowUnit;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const Vec scale = Vec::all(p.x_scales[(t.row + r) * p.steps + t.first / kDotStep] * unit);
    float* y = p.y + (t.row + r) * p.y_stride + t.out;
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < kColumnVectors; ++v) {
      const std::int64_t at = v * kColumnLanes, count = at_most(panel.outs - at, kColumnLanes);
      if (count <= 0) break;
      const Bytes total = Bytes::plus_words(
          sums[r][v], Bytes::load(reinterpret_cast<const std::byte*>(panel.offsets + at)));
      Vec part = Vec::mul(Bytes::floats(total), Vec::mul(scale, Vec::load(panel.scales + at)));
      if (t.first > 0) part = Vec::add(load_at_most(y + at, count), part);
      if (count == kColumnLanes)
        part.store(y + at);
      else
        part.store_first(y + at, count);
    }
  }
}

/// The products of R rows with the words [begin, end) of a panel.
template <int R>
[[gnu::always_inline]] inline void add_words(const std::byte* x, std::int64_t x_stride,
                                             const std::byte* panel, std::int64_t begin,
                                             std::int64_t end, Bytes (&sums)[R][kColumnVectors]) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kColumnVectors; ++v) sums[r][v] = Bytes::zero();
  }
  for (std::int64_t word = begin; word < end; ++word) {
    Bytes w[kColumnVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kColumnVectors; ++v)
      w[v] = Bytes::load(panel + (word * kColumnVectors + v) * kByteRun);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Bytes row = Bytes::word(x + r * x_stride + word * kWord);
#pragma GCC unroll 2
      for (int v = 0; v < kColumnVectors; ++v) Bytes::add_byte_products(row, w[v], sums[r][v]);
    }
  }
}

/// One step of R rows against a panel. A function of its own: the compiler keeps its sums in
/// registers then.
template <int R, bool Ratios>
[[gnu::noinline]] void column_tile(const DotIntegers& p, const IntegerTile& t,
                                   const ColumnPanel& panel) {
  const std::byte* x = p.x + t.row * p.x_stride + t.first;
  Bytes sums[R][kColumnVectors];
  if constexpr (!Ratios) {
    add_words<R>(x, p.x_stride, panel.values, 0, panel.words, sums);
    finish_columns<R>(p, t, panel, sums);
    return;
  }
  Bytes totals[R][kColumnVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kColumnVectors; ++v) totals[r][v] = Bytes::zero();
  }
  for (std::int64_t begin = 0; begin < panel.words; begin += panel.group_words) {
    const std::int64_t end = at_most(panel.words, begin + panel.group_words);
    add_words<R>(x, p.x_stride, panel.values, begin, end, sums);
    const std::int32_t* ratios = panel.ratios + begin / panel.group_words * kColumnOuts;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kColumnVectors; ++v) {
        const Bytes part = Bytes::times_words(
            sums[r][v], Bytes::load(reinterpret_cast<const std::byte*>(ratios + v * kColumnLanes)));
        totals[r][v] = Bytes::plus_words(totals[r][v], part);
      }
    }
  }
  finish_columns<R>(p, t, panel, totals);
}

/// All rows against a panel: as many at a time as registers hold sums of (twice with ratios), then
/// the rest by its binary digits.
template <bool Ratios>
inline void column_rows(const DotIntegers& p, IntegerTile t, const ColumnPanel& panel) {
  constexpr int kRows = Ratios ? 6 : 8;
  for (; p.rows - t.row >= kRows; t.row += kRows) column_tile<kRows, Ratios>(p, t, panel);
  if (p.rows - t.row >= 4) {
    column_tile<4, Ratios>(p, t, panel);
    t.row += 4;
  }
  if (p.rows - t.row >= 2) {
    column_tile<2, Ratios>(p, t, panel);
    t.row += 2;
  }
  if (p.rows - t.row == 1) column_tile<1, Ratios>(p, t, panel);
}

/// Panels of outputs, unpacked step by step into scratch that stays in the first-level cache:
/// fill(p, tile, panel).
template <bool Ratios, class Fill>
inline void columns_of_many(const DotIntegers& p, const Fill& fill) {
  ColumnPanel panel;
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    for (std::int64_t out = 0; out < p.outs; out += kColumnOuts) {
      const IntegerTile tile{0, out, first, at_most(p.w->in - first, kDotStep)};
      fill(p, tile, panel);
      column_rows<Ratios>(p, tile, panel);
    }
  }
}

void multiply_bytes(const DotIntegers& p) {
  const auto narrow = [&]<class Kind>(Kind) {
    if (p.rows <= kByteTile) return bytes_of_few<Kind>(p);
    columns_of_many<false>(p, narrow_columns<Kind>);
  };
  if (p.w->code == PackedCode::i8) {
    narrow(Codes<PackedCode::i8, false>{});
  } else if (p.w->code == PackedCode::u8) {
    narrow(Codes<PackedCode::u8, false>{});
  } else if (p.w->zeros != nullptr || p.w->zero != kMiddleHalf) {
    columns_of_many<true>(p, nibble_columns<true>);
  } else {
    columns_of_many<true>(p, nibble_columns<false>);
  }
  add_bias(p);
}

constexpr ByteProducts kVectorBytes{kByteRows, kByteOuts, lay_byte_rows, multiply_bytes, true};
