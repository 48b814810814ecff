// Included by a vector set that reads 128 codes of 4 bits at a time, inside its region, after
// nibbles.inc.hpp: the same products for one or two rows, whose limit is reading. Codes keep their
// zero points: what those add up to depends on a group's activations and ratio alone, and is taken
// off once a step. All sums are exact modulo 2^32, and so is a step's, which fits: the bits are
// those of every other order.

constexpr std::int64_t kSplit = 2 * Bytes::kLanes;  // columns read at a time: even ones, odd ones
constexpr std::int64_t kSplits = kDotStep / kSplit;
constexpr std::int64_t kStepGroups = kDotStep / kIntegerChunk;  // at most, of an output's step
constexpr std::int64_t kNibbleSteps = 16;  // steps whose sums wait for those of the other outputs

/// Some steps of R rows, the even columns of every kSplit before the odd ones, and the sums of each
/// group's activations.
template <int R>
struct SplitRows {
  alignas(64) std::byte values[R][kNibbleSteps * kDotStep];
  alignas(64) std::int32_t sums[kNibbleSteps][R][kStepGroups];

  SplitRows(const DotIntegers& p, std::int64_t begin, std::int64_t end, int shift) {
    __builtin_memset(sums, 0, sizeof sums);
    for (int r = 0; r < R; ++r) {
      const std::byte* x = p.x + r * p.x_stride + begin;
      for (std::int64_t k = 0; k < end - begin; k += kSplit) {
        const Bytes first = Bytes::load(x + k);
        const bool both = k + Bytes::kLanes < end - begin;
        const Bytes second = both ? Bytes::load(x + k + Bytes::kLanes) : Bytes::zero();
        Bytes::even(first, second).store(values[r] + k);
        Bytes::odd(first, second).store(values[r] + k + Bytes::kLanes);
      }
      // Rows are zeros from their end to the next whole run.
      for (std::int64_t k = 0; k < end - begin; k += kIntegerChunk) {
        std::int32_t sum = 0;
        for (std::int64_t i = 0; i < kIntegerChunk; ++i) sum += static_cast<std::uint8_t>(x[k + i]);
        sums[k / kDotStep][r][(k % kDotStep / kIntegerChunk) >> shift] += sum;
      }
    }
  }
};

/// What the steps of a product have in common.
struct SplitSteps {
  std::int64_t begin = 0, end = 0;
  std::int64_t groups[kNibbleSteps] = {};  ///< of an output, before each step
  std::int64_t counts[kNibbleSteps] = {};  ///< groups of each step
  Bytes spread[kSplits];  ///< which of a step's ratios belongs to every pair of columns

  SplitSteps(const PackedWeight& w, std::int64_t from, std::int64_t to) : begin(from), end(to) {
    const int shift = group_shift(w);
    for (std::int64_t s = 0; from < to; ++s, from += kDotStep) {
      groups[s] = from / w.group_cols;
      counts[s] = ((at_most(to - from, kDotStep) - 1) / kIntegerChunk >> shift) + 1;
    }
    constexpr std::int64_t kWords = Bytes::kLanes / 2;
    alignas(64) std::int16_t words[kWords];
    for (std::int64_t c = 0; c < kSplits; ++c) {
      for (std::int64_t i = 0; i < kWords; ++i) {
        const std::int64_t chunk = (c * kSplit + i * kSplit / kWords) / kIntegerChunk;
        words[i] = static_cast<std::int16_t>(chunk >> shift);
      }
      spread[c] = Bytes::load(reinterpret_cast<const std::byte*>(words));
    }
  }
};

/// Sums of the `s`-th step of R rows and an output, whose codes and whose groups' numbers these
/// are.
template <int R, bool Stored>
[[gnu::always_inline]] inline void add_split(const PackedWeight& w, const SplitRows<R>& x,
                                             const SplitSteps& steps, std::int64_t s,
                                             const std::byte* codes, std::int64_t group,
                                             Bytes (&sums)[R]) {
  constexpr std::int64_t kAhead = 8192;  // bytes asked for before they are read
  const std::int64_t columns = at_most(steps.end - steps.begin - s * kDotStep, kDotStep);
  const Bytes ratios = Bytes::first_words(w.integers.ratios + group, steps.counts[s]);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sums[r] = Bytes::zero();
  const auto add = [&](std::int64_t c, const std::byte* from) __attribute__((always_inline)) {
    Bytes even, odd;
    Bytes::split(from, even, odd);
    const Bytes ratio = Bytes::spread(ratios, steps.spread[c]);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const std::byte* row = x.values[r] + s * kDotStep + c * kSplit;
      Bytes::add_split(Bytes::load(row), Bytes::load(row + Bytes::kLanes), even, odd, ratio,
                       sums[r]);
    }
  };
  const auto ask = [&](std::int64_t c) __attribute__((always_inline)) {
    fetch(reinterpret_cast<std::uintptr_t>(codes + c * (kSplit / 2)) + kAhead);
  };
  if (columns == kDotStep) {
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < kSplits; ++c) {
      ask(c);
      add(c, codes + c * (kSplit / 2));
    }
  } else {
    for (std::int64_t c = 0; c * kSplit < columns; ++c) {
      std::byte copy[kSplit / 2] = {};  // activations are zero behind the end
      const std::int64_t rest = at_most(columns - c * kSplit, kSplit);
      __builtin_memcpy(copy, codes + c * (kSplit / 2), static_cast<std::size_t>((rest + 1) / 2));
      add(c, copy);
    }
  }
  const Bytes zeros = Stored && w.zeros != nullptr
                          ? Bytes::first_bytes(w.zeros + group, steps.counts[s])
                          : Bytes::words(Stored ? w.zero : kMiddleHalf);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const Bytes off = Bytes::times_words(
        Bytes::widened(ratios),
        Bytes::times_words(zeros, Bytes::load(reinterpret_cast<const std::byte*>(x.sums[s][r]))));
    sums[r] = Bytes::minus_words(sums[r], off);
  }
}

/// Some steps of R rows against O outputs: one output after the other, so that memory is read in
/// one run. A function of its own: the compiler keeps its sums in registers then.
template <int R, int O, bool Stored>
[[gnu::noinline]] void split_tile(const DotIntegers& p, const SplitRows<R>& x,
                                  const SplitSteps& steps, std::int64_t out) {
  const PackedWeight& w = *p.w;
  Bytes sums[kNibbleSteps][R][O];
  for (int o = 0; o < O; ++o) {
    const std::int64_t row = p.first_out + out + o;
    const std::byte* codes = w.row(row) + steps.begin / 2;
    const std::int64_t group = (w.group_rows == 1 ? row : row / w.group_rows) * w.groups;
    for (std::int64_t s = 0; steps.begin + s * kDotStep < steps.end; ++s) {
      Bytes of_output[R];
      add_split<R, Stored>(w, x, steps, s, codes + s * (kDotStep / 2), group + steps.groups[s],
                           of_output);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[s][r][o] = of_output[r];
    }
  }
  for (std::int64_t s = 0; steps.begin + s * kDotStep < steps.end; ++s)
    finish_nibbles<R, O>(p, {0, out, steps.begin + s * kDotStep, 0}, sums[s]);
}

template <int R, bool Stored>
inline void split_rows(const DotIntegers& p) {
  constexpr std::int64_t kOuts = 4;  // finished together
  for (std::int64_t begin = 0; begin < p.w->in; begin += kNibbleSteps * kDotStep) {
    const std::int64_t end = at_most(p.w->in, begin + kNibbleSteps * kDotStep);
    const SplitSteps steps(*p.w, begin, end);
    const SplitRows<R> x(p, begin, end, group_shift(*p.w));
    for (std::int64_t out = 0; out < p.outs; out += kOuts) {
      with_count(at_most(p.outs - out, kOuts),
                 [&]<int O>() { split_tile<R, O, Stored>(p, x, steps, out); });
    }
  }
}
