// Included by a vector set that multiplies bytes in one instruction, inside its region: products of
// bytes (bytes.hpp) for few rows. Activations are stored plus kByteMiddle, without a sign; what the
// middle adds is known when weights are unpacked, and taken off at the end of a step. All sums are
// exact modulo 2^32, and so is a step's, which fits. Many rows: byte_columns.inc.hpp.

static_assert(Bytes::kLanes == kByteRun);
constexpr std::int64_t kByteRows = 288;  // of a call: of a step 144 KiB, in the second-level cache
constexpr std::int64_t kByteOuts = 128;  // of a call
constexpr std::int64_t kByteTile = 4;    // rows, and outputs, of a register tile of few rows
constexpr std::int64_t kByteSteps = 16;  // steps whose sums wait for those of the other outputs

void lay_byte_rows(const ByteRows& p) {
  const std::int64_t steps = integer_steps(p.in);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t first = step * kDotStep;
      p.scales[r * steps + step] =
          round_step(p.x + r * p.x_stride + first, at_most(p.in - first, kDotStep), PackedCode::u4,
                     p.out + r * byte_stride(p.in) + first);
    }
  }
}

/// One step of one output's 8-bit codes, read run by run as integers of 8 bits.
template <class Kind>
struct NarrowRow {
  const std::byte* codes = nullptr;
  const std::int16_t* ratios = nullptr;
  std::int64_t depth = 0;
  int shift = 0;

  NarrowRow(const PackedWeight& w, std::int64_t out, const IntegerTile& t)
      : codes(code_at<Kind::kCode>(w.row(out), t.first)),
        ratios(w.integers.ratios + w.group_of(out, t.first)),
        depth(t.depth),
        shift(group_shift(w)) {}

  /// The run from column `k` on, if all of it is there.
  [[nodiscard, gnu::always_inline]] inline Bytes run(std::int64_t k) const {
    return narrow(codes + k, k);
  }
  /// The last one, zeros behind its end.
  [[nodiscard]] inline Bytes rest(std::int64_t k) const {
    constexpr int kZero = Kind::kCode == PackedCode::i8 ? 0 : kMiddleByte;
    alignas(64) std::byte copy[kByteRun];
    __builtin_memset(copy, kZero, sizeof copy);
    __builtin_memcpy(copy, codes + k, static_cast<std::size_t>(depth - k));
    return narrow(copy, k);
  }

 private:
  [[nodiscard, gnu::always_inline]] inline Bytes narrow(const std::byte* from,
                                                        std::int64_t k) const {
    const std::int64_t chunk = k / kIntegerChunk, last = (depth - 1) / kIntegerChunk;
    const Bytes ratio =
        Bytes::pairs(ratios[chunk >> shift], ratios[at_most(chunk + 1, last) >> shift]);
    const Bytes bytes = Bytes::load(from);
    return Bytes::narrow(Kind::kCode == PackedCode::i8 ? bytes : Bytes::other_signs(bytes), ratio);
  }
};

/// The same where ratios are all alike (IntegerForm::uniform): codes are the integers.
template <class Kind>
struct UniformRow {
  static constexpr bool kSigned = Kind::kCode == PackedCode::i8;
  const std::byte* codes = nullptr;
  std::int64_t depth = 0;

  UniformRow(const PackedWeight& w, std::int64_t out, const IntegerTile& t)
      : codes(code_at<Kind::kCode>(w.row(out), t.first)), depth(t.depth) {}

  [[nodiscard, gnu::always_inline]] inline Bytes run(std::int64_t k) const {
    return Bytes::other_signs(middle_run(k));
  }
  [[nodiscard]] inline Bytes rest(std::int64_t k) const {
    return Bytes::other_signs(middle_rest(k));
  }
  /// Both with kByteMiddle added, without a sign.
  [[nodiscard, gnu::always_inline]] inline Bytes middle_run(std::int64_t k) const {
    return with_middle(codes + k);
  }
  [[nodiscard]] inline Bytes middle_rest(std::int64_t k) const {
    alignas(64) std::byte copy[kByteRun];
    __builtin_memset(copy, kSigned ? 0 : kMiddleByte, sizeof copy);
    __builtin_memcpy(copy, codes + k, static_cast<std::size_t>(depth - k));
    return with_middle(copy);
  }

 private:
  [[nodiscard, gnu::always_inline]] static inline Bytes with_middle(const std::byte* from) {
    return kSigned ? Bytes::other_signs(Bytes::load(from)) : Bytes::load(from);
  }
};
static_assert(kMiddleByte == kByteMiddle);

/// f(row) with the way to read one step of an output.
template <class Kind, class F>
inline void with_row(const PackedWeight& w, std::int64_t out, const IntegerTile& t, const F& f) {
  if (w.integers.uniform) return f(UniformRow<Kind>(w, out, t));
  f(NarrowRow<Kind>(w, out, t));
}

/// One step of an output, zeros behind its end; asks for as many bytes from `ahead` on.
template <class Kind>
inline void unpack_narrow(const PackedWeight& w, std::int64_t out, const IntegerTile& t,
                          std::uintptr_t ahead, std::byte* to) {
  with_row<Kind>(w, out, t, [&](const auto& row) {
    for (std::int64_t k = 0; k < t.depth; k += kByteRun) {
      fetch(ahead + static_cast<std::uintptr_t>(k));
      (k + kByteRun <= t.depth ? row.run(k) : row.rest(k)).store(to + k);
    }
  });
}

/// Adds a step's sums, scaled, to y.
template <int R, int O>
inline void finish_narrow(const DotIntegers& p, const IntegerTile& t, const Bytes (&sums)[R][O]) {
  const std::int64_t step = t.first / kDotStep;
  const float* scales =
      p.w->integers.steps + step * p.w->integers.step_stride + p.first_out + t.out;
  const Bytes none = Bytes::zero();
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    std::int32_t totals[4];
    Bytes::reduce4(sums[r][0], O > 1 ? sums[r][O > 1 ? 1 : 0] : none,
                   O > 2 ? sums[r][O > 2 ? 2 : 0] : none, O > 3 ? sums[r][O > 3 ? 3 : 0] : none,
                   totals);
    float total[4] = {};
    for (int o = 0; o < O; ++o) total[o] = static_cast<float>(totals[o]);
    add_step<O>(total, p.x_scales[(t.row + r) * p.steps + step] * kNarrowUnit, scales, t.first == 0,
                p.y + (t.row + r) * p.y_stride + t.out);
  }
}

/// One step of R rows against O outputs, straight from the codes. A function of its own: the
/// compiler keeps its sums in registers then.
template <int R, int O, class Kind>
[[gnu::noinline]] void narrow_tile(const DotIntegers& p, const IntegerTile& t) {
  const std::byte* x = p.x + t.row * p.x_stride + t.first;
  const PackedWeight& w = *p.w;
  const std::int64_t out = p.first_out + t.out;
  // Outputs behind these, which follow in memory: asked for meanwhile.
  const std::uintptr_t ahead =
      reinterpret_cast<std::uintptr_t>(w.row(out)) +
      static_cast<std::uintptr_t>(bytes_ahead(O * w.row_bytes) + O * t.first);
  const Bytes middle = Bytes::bytes(kByteMiddle, kByteMiddle);
  Bytes sums[R][O], middles[O];
#pragma GCC unroll 4
  for (int o = 0; o < O; ++o) {
    middles[o] = Bytes::zero();
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[r][o] = Bytes::zero();
  }
  const auto add = [&](std::int64_t k, int o, Bytes weights) __attribute__((always_inline)) {
    Bytes::add_byte_products(middle, weights, middles[o]);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      Bytes::add_byte_products(Bytes::load(x + r * p.x_stride + k), weights, sums[r][o]);
  };
  const NarrowRow<Kind> first(w, out, t);
  NarrowRow<Kind> rows[4] = {first, first, first, first};
  for (int o = 1; o < O; ++o) rows[o] = NarrowRow<Kind>(w, out + o, t);
  std::int64_t k = 0;
  for (; k + kByteRun <= t.depth; k += kByteRun) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) {
      fetch(ahead + static_cast<std::uintptr_t>(O * k + o * kByteRun));
      add(k, o, rows[o].run(k));
    }
  }
  if (k < t.depth) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) add(k, o, rows[o].rest(k));
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) sums[r][o] = Bytes::minus_words(sums[r][o], middles[o]);
  }
  finish_narrow<R, O>(p, t, sums);
}

/// One step of all rows, which are few, and of up to kByteTile outputs.
template <class Kind>
inline void narrow_tile_of(const DotIntegers& p, const IntegerTile& t) {
  with_count(p.rows, [&]<int R>() {
    with_count(at_most(p.outs - t.out, kByteTile), [&]<int O>() { narrow_tile<R, O, Kind>(p, t); });
  });
}

/// Some steps of a few rows with a sign, and kByteMiddle times what lane by lane they add up to.
template <int R>
struct SignedRows {
  alignas(64) std::byte values[R][kByteSteps * kDotStep];
  Bytes middles[kByteSteps][R];

  SignedRows(const DotIntegers& p, std::int64_t begin, std::int64_t end) {
    const Bytes middle = Bytes::bytes(kByteMiddle, kByteMiddle);
    for (int r = 0; r < R; ++r) {
      const std::byte* x = p.x + r * p.x_stride + begin;
      for (std::int64_t first = 0; first < end - begin; first += kDotStep) {
        Bytes sum = Bytes::zero();
        for (std::int64_t k = first; k < at_most(first + kDotStep, end - begin); k += kByteRun) {
          const Bytes run = Bytes::other_signs(Bytes::load(x + k));
          run.store(values[r] + k);
          Bytes::add_byte_products(middle, run, sum);
        }
        middles[first / kDotStep][r] = sum;
      }
    }
  }
};

/// Sums of one step of R rows, which is the `step`-th of them, and an output: two chains, or their
/// latency would be the limit.
template <int R, class Kind>
[[gnu::always_inline]] inline void add_uniform(const SignedRows<R>& x, std::int64_t step,
                                               const UniformRow<Kind>& row, Bytes (&sums)[R]) {
  constexpr std::int64_t kAhead = 8192;  // bytes asked for before they are read
  Bytes others[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sums[r] = others[r] = Bytes::zero();
  const auto add = [&](std::int64_t k, Bytes weights,
                       Bytes(&to)[R]) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      Bytes::add_byte_products(weights, Bytes::load(x.values[r] + step * kDotStep + k), to[r]);
  };
  const auto add_run = [&](std::int64_t k, Bytes(&to)[R]) __attribute__((always_inline)) {
    fetch(reinterpret_cast<std::uintptr_t>(row.codes + k) + kAhead);
    add(k, row.middle_run(k), to);
  };
  std::int64_t k = 0;
  for (; k + 2 * kByteRun <= row.depth; k += 2 * kByteRun) {
    add_run(k, sums);
    add_run(k + kByteRun, others);
  }
  if (k + kByteRun <= row.depth) {
    add_run(k, sums);
    k += kByteRun;
  }
  if (k < row.depth) add(k, row.middle_rest(k), sums);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    sums[r] = Bytes::minus_words(Bytes::plus_words(sums[r], others[r]), x.middles[step][r]);
  }
}

/// Some steps of R rows against O outputs: one output after the other, so that memory is read in
/// one run. A function of its own: the compiler keeps its sums in registers then.
template <int R, int O, class Kind>
[[gnu::noinline]] void uniform_tile(const DotIntegers& p, const SignedRows<R>& x, IntegerTile t,
                                    std::int64_t end) {
  Bytes sums[kByteSteps][R][O];
  const std::int64_t begin = t.first;
  for (int o = 0; o < O; ++o) {
    t.first = begin;
    for (std::int64_t s = 0; t.first < end; ++s, t.first += kDotStep) {
      t.depth = at_most(end - t.first, kDotStep);
      Bytes of_output[R];
      add_uniform<R, Kind>(x, s, {*p.w, p.first_out + t.out + o, t}, of_output);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[s][r][o] = of_output[r];
    }
  }
  t.first = begin;
  for (std::int64_t s = 0; t.first < end; ++s, t.first += kDotStep)
    finish_narrow<R, O>(p, t, sums[s]);
}

template <int R, class Kind>
inline void uniform_of_few(const DotIntegers& p) {
  for (std::int64_t begin = 0; begin < p.w->in; begin += kByteSteps * kDotStep) {
    const std::int64_t end = at_most(p.w->in, begin + kByteSteps * kDotStep);
    const SignedRows<R> x(p, begin, end);
    for (std::int64_t out = 0; out < p.outs; out += kByteTile) {
      with_count(at_most(p.outs - out, kByteTile),
                 [&]<int O>() { uniform_tile<R, O, Kind>(p, x, {0, out, begin, 0}, end); });
    }
  }
}

/// A few rows: four outputs at a time over their whole length, so that memory is read in long runs.
template <class Kind>
inline void bytes_of_few(const DotIntegers& p) {
  if (p.w->integers.uniform)
    return with_count(p.rows, [&]<int R>() { uniform_of_few<R, Kind>(p); });
  for (std::int64_t out = 0; out < p.outs; out += kByteTile) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      narrow_tile_of<Kind>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
}
