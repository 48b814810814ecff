// Included by a vector set that multiplies bytes in one instruction, inside its region: products of
// bytes (bytes.hpp) for few rows. Activations are stored plus kByteMiddle, without a sign; what the
// middle adds is known when weights are unpacked, and taken off at the end of a step. All sums are
// exact modulo 2^32, and so is a step's, which fits. Many rows: byte_columns.inc.hpp.

static_assert(Bytes::kLanes == kByteRun);
constexpr std::int64_t kByteRows = 288;  // of a call: of a step 144 KiB, in the second-level cache
constexpr std::int64_t kByteOuts = 128;  // of a call
constexpr std::int64_t kByteTile = 4;    // rows, and outputs, of a register tile

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

/// One step of some outputs, whole runs of each, and −kByteMiddle times the sum of each.
struct ByteWeights {
  alignas(64) std::byte values[kByteTile * kDotStep];
  std::int32_t offsets[kByteTile] = {};
};

/// One step of an output, zeros behind its end; asks for as many bytes from `ahead` on.
template <class Kind>
inline Bytes unpack_narrow(const PackedWeight& w, std::int64_t out, const IntegerTile& t,
                           std::uintptr_t ahead, std::byte* to) {
  const std::byte* codes = code_at<Kind::kCode>(w.row(out), t.first);
  const std::int64_t group = w.group_of(out, t.first);
  const int shift = group_shift(w);
  Bytes sum = Bytes::zero();
  const Bytes middle = Bytes::bytes(kByteMiddle, kByteMiddle);
  const auto unpack = [&](const std::byte* from,
                          std::int64_t chunk) __attribute__((always_inline)) {
    Ints integers[kChunkInts];
    static_assert(kChunkInts == 1);
    integer_chunk<Kind>(from, ratio_at<Kind>(w, group + (chunk >> shift)), integers);
    Bytes::store_narrow(integers[0], to + chunk * kIntegerChunk);
  };
  for (std::int64_t k = 0; k < t.depth; k += kByteRun) {
    fetch(ahead + static_cast<std::uintptr_t>(k));
    if (k + kByteRun <= t.depth) {
      unpack(codes + k, k / kIntegerChunk);
      unpack(codes + k + kIntegerChunk, k / kIntegerChunk + 1);
    } else {
      Bytes::zero().store(to + k);
      for (std::int64_t at = k; at < t.depth; at += kIntegerChunk) {
        const std::int64_t rest = at_most(t.depth - at, kIntegerChunk);
        std::byte copy[kIntegerChunk] = {};
        __builtin_memcpy(copy, codes + at, static_cast<std::size_t>(rest));
        unpack(copy, at / kIntegerChunk);
        // A code of 0 is no 0.
        __builtin_memset(to + at + rest, 0, static_cast<std::size_t>(kIntegerChunk - rest));
      }
    }
    Bytes::add_byte_products(middle, Bytes::load(to + k), sum);
  }
  return sum;
}

/// Four outputs, or less, into a panel from `at` on; asks for as much of `next`.
template <class Kind>
inline void unpack_four(const DotIntegers& p, const IntegerTile& t, std::int64_t outs,
                        const Ahead& next, std::int64_t at, ByteWeights& panel) {
  Bytes sums[kByteTile] = {Bytes::zero(), Bytes::zero(), Bytes::zero(), Bytes::zero()};
  for (std::int64_t o = 0; o < outs; ++o) {
    sums[o] = unpack_narrow<Kind>(*p.w, p.first_out + t.out + o, t,
                                  next.start + static_cast<std::uintptr_t>(o * next.stride),
                                  panel.values + (at + o) * kDotStep);
  }
  std::int32_t totals[kByteTile];
  Bytes::reduce4(sums[0], sums[1], sums[2], sums[3], totals);
  for (std::int64_t o = 0; o < outs; ++o) panel.offsets[at + o] = -totals[o];
}

/// One step of R rows against O unpacked outputs. A function of its own: the compiler keeps its
/// sums in registers then.
template <int R, int O>
[[gnu::noinline]] void narrow_tile(const DotIntegers& p, const IntegerTile& t,
                                   const std::byte* weights, const std::int32_t* offsets) {
  const std::byte* x = p.x + t.row * p.x_stride + t.first;
  Bytes sums[R][O];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) sums[r][o] = Bytes::zero();
  }
  for (std::int64_t k = 0; k < t.depth; k += kByteRun) {
    Bytes w[O];
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) w[o] = Bytes::load(weights + o * kDotStep + k);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Bytes row = Bytes::load(x + r * p.x_stride + k);
#pragma GCC unroll 4
      for (int o = 0; o < O; ++o) Bytes::add_byte_products(row, w[o], sums[r][o]);
    }
  }
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
    for (int o = 0; o < O; ++o) total[o] = static_cast<float>(totals[o] + offsets[o]);
    add_step<O>(total, p.x_scales[(t.row + r) * p.steps + step] * kNarrowUnit, scales, t.first == 0,
                p.y + (t.row + r) * p.y_stride + t.out);
  }
}

/// f.operator()<N>() for n, 1 to 4.
template <class F>
inline void with_count(std::int64_t n, const F& f) {
  switch (n) {
    case 4:
      return f.template operator()<4>();
    case 3:
      return f.template operator()<3>();
    case 2:
      return f.template operator()<2>();
    default:
      return f.template operator()<1>();
  }
}

inline void narrow_tiles(const DotIntegers& p, const IntegerTile& t, std::int64_t rows,
                         std::int64_t outs, const std::byte* weights, const std::int32_t* offsets) {
  with_count(rows, [&]<int R>() {
    with_count(outs, [&]<int O>() { narrow_tile<R, O>(p, t, weights, offsets); });
  });
}

/// A few rows: four outputs at a time over their whole length, so that memory is read in long runs.
template <class Kind>
inline void bytes_of_few(const DotIntegers& p) {
  ByteWeights panel;
  for (std::int64_t out = 0; out < p.outs; out += kByteTile) {
    const std::int64_t outs = at_most(p.outs - out, kByteTile);
    // The next outputs, which follow in memory: asked for meanwhile.
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p.w->row(p.first_out + out)) +
                                 static_cast<std::uintptr_t>(outs * p.w->row_bytes);
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
      const IntegerTile t{0, out, first, at_most(p.w->in - first, kDotStep)};
      unpack_four<Kind>(
          p, t, outs, {ahead + static_cast<std::uintptr_t>(outs * first), 0, 0, t.depth}, 0, panel);
      narrow_tiles(p, t, p.rows, outs, panel.values, panel.offsets);
    }
  }
}
