// Included once by every vector set, inside its region, after integers.inc.hpp: products of
// activations of 8 bits with 4-bit codes. An activation is stored plus kByteMiddle, so that one
// instruction multiplies unsigned bytes with signed ones; what the middle adds depends on the
// weight alone and is taken off at the end of a step (IntegerForm::offsets). All sums are exact
// modulo 2^32, and so is a step's, which fits: every set and every register tile gives the same
// bits.
//
// A set reads Bytes::kLanes codes at a time, in whatever order of their columns is cheap; rounded
// activations are stored in that order.

constexpr std::uint8_t kMiddleHalf = 8;

/// Chunks of a step that share a ratio, as a power of two; groups are at most a step here.
inline int group_shift(const PackedWeight& w) {
  int shift = 0;
  while (shift < 4 && (kIntegerChunk << shift) < w.group_cols) ++shift;
  return shift;
}

/// Ratios and zero points of kLanes codes: of one chunk, or of two neighbours.
template <bool Stored>
struct NibbleScale {
  Bytes ratio, zero;

  NibbleScale(const PackedWeight& w, std::int64_t group, std::int64_t chunk, int shift,
              std::int64_t last_chunk) {
    const std::int64_t a = group + (chunk >> shift);
    const std::int64_t b = group + (at_most(chunk + Bytes::kChunks - 1, last_chunk) >> shift);
    ratio = Bytes::pairs(w.integers.ratios[a], w.integers.ratios[b]);
    if constexpr (Stored) {
      zero =
          w.zeros != nullptr ? Bytes::bytes(w.zeros[a], w.zeros[b]) : Bytes::bytes(w.zero, w.zero);
    } else {
      zero = Bytes::bytes(kMiddleHalf, kMiddleHalf);
    }
  }
};

/// Adds a step's sums, scaled, to y.
template <int R, int O>
inline void finish_nibbles(const DotIntegers& p, const IntegerTile& t, const Bytes (&sums)[R][O]) {
  const std::int64_t step = t.first / kDotStep;
  const std::int64_t at = step * p.w->integers.step_stride + p.first_out + t.out;
  const Bytes none = Bytes::zero();
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    std::int32_t totals[4];
    Bytes::reduce4(sums[r][0], O > 1 ? sums[r][O > 1 ? 1 : 0] : none,
                   O > 2 ? sums[r][O > 2 ? 2 : 0] : none, O > 3 ? sums[r][O > 3 ? 3 : 0] : none,
                   totals);
    float total[4] = {};
    for (int o = 0; o < O; ++o) {
      // Modulo 2^32: neither part need fit.
      total[o] = static_cast<float>(
          static_cast<std::int32_t>(static_cast<std::uint32_t>(totals[o]) +
                                    static_cast<std::uint32_t>(p.w->integers.offsets[at + o])));
    }
    add_step<O>(total, p.x_scales[(t.row + r) * p.steps + step], p.w->integers.steps + at,
                t.first == 0, p.y + (t.row + r) * p.y_stride + t.out);
  }
}

/// One step of R rows against O packed rows, straight from the codes.
template <int R, int O, bool Stored>
inline void nibbles_tile(const DotIntegers& p, const IntegerTile& t) {
  constexpr std::int64_t kRun = Bytes::kLanes, kRunBytes = kRun / 2, kLine = 64;
  const PackedWeight& w = *p.w;
  const std::byte* codes = w.row(p.first_out + t.out) + t.first / 2;
  const std::byte* x = p.x + t.row * p.x_stride + t.first;
  const int shift = group_shift(w);
  const std::int64_t last = (t.depth - 1) / kIntegerChunk;
  // Outputs behind these, which follow in memory: asked for meanwhile.
  const std::uintptr_t ahead =
      reinterpret_cast<std::uintptr_t>(w.row(p.first_out + t.out)) +
      static_cast<std::uintptr_t>(bytes_ahead(O * w.row_bytes) + O * t.first / 2);
  std::int64_t groups[O];
#pragma GCC unroll 4
  for (int o = 0; o < O; ++o) groups[o] = w.group_of(p.first_out + t.out + o, t.first);
  Bytes sums[R][O];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) sums[r][o] = Bytes::zero();
  }
  const auto add = [&](std::int64_t run, int o,
                       const std::byte* from) __attribute__((always_inline)) {
    const NibbleScale<Stored> scale(w, groups[o], run * Bytes::kChunks, shift, last);
    const Bytes weights = Bytes::load_codes(from, scale.zero);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      Bytes::add_products(Bytes::load(x + r * p.x_stride + run * kRun), weights, scale.ratio,
                          sums[r][o]);
  };
  const std::int64_t runs = t.depth / kRun, rest = t.depth % kRun;
  for (std::int64_t run = 0; run < runs; ++run) {
    for (std::int64_t line = 0; line < O * kRunBytes; line += kLine)
      fetch(ahead + static_cast<std::uintptr_t>(run * O * kRunBytes + line));
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) add(run, o, codes + o * w.row_bytes + run * kRunBytes);
  }
#pragma GCC unroll 4
  for (int o = 0; o < O && rest > 0; ++o) {  // activations are zero behind the end
    std::byte copy[kRunBytes] = {};
    __builtin_memcpy(copy, codes + o * w.row_bytes + runs * kRunBytes,
                     static_cast<std::size_t>((rest + 1) / 2));
    add(runs, o, copy);
  }
  finish_nibbles<R, O>(p, t, sums);
}

/// A few rows: four outputs at a time over their whole length, so that memory is read in long runs.
template <int R, bool Stored>
inline void nibbles_direct(const DotIntegers& p) {
  std::int64_t out = 0;
  for (; out + 4 <= p.outs; out += 4) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      nibbles_tile<R, 4, Stored>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
  for (; out < p.outs; ++out) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      nibbles_tile<R, 1, Stored>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
}

/// Codes of a panel of outputs less their zero points, [outs / kTileOuts][runs][kTileOuts][kLanes],
/// and their ratios in the same order.
struct NibblePanel {
  alignas(64) std::byte codes[kPanelOuts * kDotStep];
  alignas(64) std::byte ratios[kPanelOuts * kDotStep];
};

/// Columns of a step of so many in its groups of rows.
constexpr std::int64_t padded_depth(std::int64_t depth) {
  constexpr std::int64_t kPad = activation_pad(PackedCode::u4);
  return (depth + kPad - 1) / kPad * kPad;
}

/// One step of an output into a panel, zeros behind it.
template <bool Stored>
inline void unpack_nibbles(const PackedWeight& w, std::int64_t out, std::int64_t first,
                           std::int64_t depth, std::int64_t at, NibblePanel& panel) {
  constexpr std::int64_t kRun = Bytes::kLanes, kRunBytes = kRun / 2;
  const std::byte* codes = w.row(out) + first / 2;
  const int shift = group_shift(w);
  const std::int64_t group = w.group_of(out, first), last = (depth - 1) / kIntegerChunk;
  for (std::int64_t run = 0; run * kRun < padded_depth(depth); ++run, at += kTileOuts * kRun) {
    const std::int64_t rest = depth - run * kRun;
    if (rest <= 0) {
      Bytes::zero().store(panel.codes + at);
      Bytes::zero().store(panel.ratios + at);
      continue;
    }
    const NibbleScale<Stored> scale(w, group, run * Bytes::kChunks, shift, last);
    if (rest >= kRun) {
      Bytes::load_codes(codes + run * kRunBytes, scale.zero).store(panel.codes + at);
    } else {
      std::byte copy[kRunBytes] = {};
      __builtin_memcpy(copy, codes + run * kRunBytes, static_cast<std::size_t>((rest + 1) / 2));
      Bytes::load_codes(copy, scale.zero).store(panel.codes + at);
    }
    scale.ratio.store(panel.ratios + at);
  }
}

using BytePanel = GroupPanel<Bytes::kGroup>;

/// One step of the first R rows of a group against O unpacked outputs. With Pairs, runs 2 i and
/// 2 i + 1 share their ratios. A function of its own: the compiler keeps its sums in registers
/// then.
template <int R, int O, bool Pairs>
[[gnu::noinline]] void bytes_tile(const DotIntegers& p, const BytePanel& groups,
                                  const NibblePanel& panel, std::int64_t col,
                                  const IntegerTile& t) {
  constexpr std::int64_t kRun = Bytes::kLanes, kRow = Bytes::kGroup * kRun, kOut = kTileOuts * kRun;
  const auto* x = static_cast<const std::byte*>(groups.groups) + groups.group_at(t.row) * kRun;
  const std::byte* w = panel.codes + groups.output_at(col) * kRun;
  const std::byte* ratios = panel.ratios + groups.output_at(col) * kRun;
  Bytes sums[R][O];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) sums[r][o] = Bytes::zero();
  }
  std::int64_t run = 0;
  for (; Pairs && run + 2 <= groups.vectors; run += 2) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Bytes a = Bytes::load(x + run * kRow + r * kRun);
      const Bytes b = Bytes::load(x + (run + 1) * kRow + r * kRun);
#pragma GCC unroll 4
      for (int o = 0; o < O; ++o) {
        const std::int64_t at = run * kOut + o * kRun;
        Bytes::add_pairs(a, b, w + at, w + at + kOut, ratios + at, sums[r][o]);
      }
    }
  }
  for (; run < groups.vectors; ++run) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Bytes a = Bytes::load(x + run * kRow + r * kRun);
#pragma GCC unroll 4
      for (int o = 0; o < O; ++o) {
        const std::int64_t at = run * kOut + o * kRun;
        Bytes::add_products(a, w + at, ratios + at, sums[r][o]);
      }
    }
  }
  finish_nibbles<R, O>(p, t, sums);
}

/// Many rows, in groups: panels of outputs, unpacked step by step into scratch that stays in the
/// first-level cache.
template <bool Stored>
inline void nibbles_grouped(const DotIntegers& p) {
  NibblePanel scratch;
  const bool pairs = p.w->group_cols >= 2 * Bytes::kLanes;
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    const std::int64_t depth = at_most(p.w->in - first, kDotStep);
    const std::int64_t runs = padded_depth(depth) / Bytes::kLanes;
    for (std::int64_t out = 0; out < p.outs; out += kPanelOuts) {
      const std::int64_t outs = at_most(p.outs - out, kPanelOuts);
      for (std::int64_t o = 0; o < outs; ++o) {
        unpack_nibbles<Stored>(*p.w, p.first_out + out + o, first, depth,
                               panel_row(o, runs) * Bytes::kLanes, scratch);
      }
      const BytePanel panel{p.groups + groups_at<Bytes::kGroup>(p.rows, first), p.rows, outs, runs};
      group_panel(panel, {}, [&]<int R, int O>(std::int64_t row, std::int64_t col) {
        const IntegerTile tile{row, out + col, first, depth};
        if (pairs) return bytes_tile<R, O, true>(p, panel, scratch, col, tile);
        bytes_tile<R, O, false>(p, panel, scratch, col, tile);
      });
    }
  }
}

/// The same as nibbles_direct(), of sets that read so many codes at a time (split_nibbles.inc.hpp).
template <int R, bool Stored>
inline void split_rows(const DotIntegers& p);

/// Few rows, two at a time, from the codes.
template <bool Stored>
inline void nibbles_of_rows(DotIntegers p) {
  const auto rows = [&]<int R>() {
    if constexpr (Bytes::kSplits) return split_rows<R, Stored>(p);
    nibbles_direct<R, Stored>(p);
  };
  for (; p.rows >= 2; next_rows(p, 2)) rows.template operator()<2>();
  if (p.rows == 1) rows.template operator()<1>();
}

template <bool Stored>
inline void dot_nibbles(const DotIntegers& p) {
  if (p.groups != nullptr) return nibbles_grouped<Stored>(p);
  nibbles_of_rows<Stored>(p);
}

void dot_integers(const DotIntegers& p) {
  if (p.w->code == PackedCode::u4) {
    if (p.w->zeros != nullptr || p.w->zero != kMiddleHalf) {
      dot_nibbles<true>(p);
    } else {
      dot_nibbles<false>(p);
    }
  } else {
    with_kind(*p.w, [&](auto kind) {
      if (p.groups != nullptr) return codes_grouped<decltype(kind)>(p);
      codes_of_rows<decltype(kind)>(p);
    });
  }
  add_bias(p);
}

/// One step of a row to bytes.
inline void round_bytes(const float* x, std::int64_t n, float inverse, std::byte* out) {
  constexpr std::int64_t kRun = Bytes::kLanes;
  static constexpr float kNone[kDotStep] = {};
  if (inverse == 0) x = kNone;
  const Vec factor = Vec::all(inverse);
  std::int64_t k = 0;
  for (; k + kRun <= n; k += kRun) Bytes::round(x + k, factor).store(out + k);
  if (k == n) return;
  alignas(64) float rest[kRun] = {}, present[kRun] = {};
  __builtin_memcpy(rest, x + k, static_cast<std::size_t>(n - k) * sizeof(float));
  for (std::int64_t i = 0; i < n - k; ++i) present[i] = 1;
  Bytes::round(rest, factor).if_odd(Bytes::round(present, Vec::all(1))).store(out + k);
}

float round_step(const float* x, std::int64_t n, PackedCode code, std::byte* out) {
  const float most = greatest_magnitude(x, n);
  const StepScale scale = step_scale(most, code);
  const std::int64_t size = activation_bytes(code);
  const std::int64_t pad = activation_pad(code), padded = (n + pad - 1) / pad * pad;
  if (padded != n) __builtin_memset(out, 0, static_cast<std::size_t>(padded * size));
  if (code == PackedCode::u4) {
    round_bytes(x, n, scale.inverse, out);
  } else if (scale.inverse == 0) {
    __builtin_memset(out, 0, static_cast<std::size_t>(n * size));
  } else {
    round_chunks(x, n, scale.inverse, reinterpret_cast<std::int16_t*>(out));
  }
  return scale.scale;
}
