// Included by every file that provides tile products, inside its namespace, after tiles.inc.hpp:
// products of bytes (bytes.hpp) with tile registers. Outputs of a step are unpacked into tiles of
// signed bytes, whatever their codes: one tile for every kByteRun columns of 8-bit codes; two, an
// element's upper and lower byte, for codes of 4 bits, which with their ratio have 16. So sums
// leave the registers once a step. All integers are exact: what is read when alters no bit.

struct OfBytes {
  using Sum = std::int32_t;
  template <int C, int A, int B>
  static void multiply(Tiles& t) {
    t.template multiply_bytes<C, A, B>();
  }
};

static_assert(kByteRun == kLineBytes);
constexpr std::int64_t kStepRuns = kDotStep / kByteRun;      // tiles of a step
constexpr std::int64_t kTilePlane = kStepRuns * kTileBytes;  // the same of one byte of elements

// Sixteen values: vector types of GCC and Clang, for any machine.
using ManyFloats = float __attribute__((vector_size(64)));
using ManyInts = std::int32_t __attribute__((vector_size(64)));
using ManyWords = std::int16_t __attribute__((vector_size(32)));
using ManyBytes = std::int8_t __attribute__((vector_size(16)));
constexpr std::int64_t kMany = 16;

template <class V>
inline V load_many(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

/// Greatest magnitude of up to kDotStep values; NaN if one is not finite.
inline float most_of(const float* x, std::int64_t n) {
  ManyFloats most = {}, odd = {};
  const auto add = [&](ManyFloats v) __attribute__((always_inline)) {
    const ManyFloats size = v < 0 ? -v : v;
    most = size > most ? size : most;
    odd += v - v;  // 0, or NaN
  };
  std::int64_t k = 0;
  for (; k + kMany <= n; k += kMany) add(load_many<ManyFloats>(x + k));
  if (k < n) {
    ManyFloats rest = {};
    __builtin_memcpy(&rest, x + k, static_cast<std::size_t>(n - k) * sizeof(float));
    add(rest);
  }
  float greatest = 0, sum = 0;
  for (int i = 0; i < kMany; ++i) {
    greatest = most[i] > greatest ? most[i] : greatest;
    sum += odd[i];
  }
  return sum == 0 ? greatest : __builtin_nanf("");
}

/// A run of values times `factor`, to the nearest integers, ties to even; zeros behind `count`.
inline void round_run(const float* x, std::int64_t count, float factor, std::uint32_t* words) {
  constexpr float kWhole = 0x1.8p23F;  // a sum with it has no fraction, its lowest byte is ours
  alignas(64) float values[kByteRun] = {};
  alignas(16) std::byte bytes[kByteRun] = {};
  if (count < kByteRun) {
    __builtin_memcpy(values, x, static_cast<std::size_t>(count) * sizeof(float));
    x = values;
  }
  for (std::int64_t k = 0; k < kByteRun && factor != 0; k += kMany) {
    const ManyFloats whole = load_many<ManyFloats>(x + k) * factor + kWhole;
    const auto narrow = __builtin_convertvector(reinterpret_cast<ManyInts>(whole), ManyBytes);
    __builtin_memcpy(bytes + k, &narrow, sizeof narrow);
  }
  __builtin_memcpy(words, bytes, sizeof bytes);
}

/// One tile of rows [row, row + rows) from column k on; a row's inverse scale is that of its step,
/// which is found, and its scale stored, where the step begins.
inline void round_tile(const ByteRows& p, std::int64_t row, std::int64_t rows, std::int64_t k,
                       float (&inverses)[kTileSide], std::uint32_t (&words)[kTileSide][kTileSide]) {
  const std::int64_t steps = integer_steps(p.in);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = p.x + (row + r) * p.x_stride + k;
    if (k % kDotStep == 0) {
      const StepScale scale = step_scale(most_of(x, at_most(p.in - k, kDotStep)), PackedCode::u4);
      p.scales[(row + r) * steps + k / kDotStep] = scale.scale;
      inverses[r] = scale.inverse;
    }
    round_run(x, at_most(p.in - k, kByteRun), inverses[r], words[r]);
  }
}

/// Groups of kTileSide rows: [group][tile][kByteRun / 4][rows of the group][4].
void lay_byte_tiles(const ByteRows& p) {
  std::uint32_t words[kTileSide][kTileSide];
  float inverses[kTileSide];
  for (std::int64_t row = 0; row < p.rows; row += kTileSide) {
    const std::int64_t rows = at_most(p.rows - row, kTileSide);
    std::byte* out = p.out + row * byte_stride(p.in);
    for (std::int64_t k = 0; k < p.in; k += kByteRun, out += rows * kByteRun) {
      round_tile(p, row, rows, k, inverses, words);
      lay_tile(words, rows, out);
    }
  }
}

/// What the outputs of a block are unpacked from: a step of one of them.
struct CodeStep {
  const PackedWeight* w = nullptr;
  std::int64_t out = 0, first = 0, depth = 0;
};

/// A chunk of bytes as integers of 8 bits.
inline void narrow_chunk(const CodeStep& s, const std::byte* codes, std::int64_t group,
                         std::byte* to) {
  const PackedWeight& w = *s.w;
  const ManyInts ratio = ManyInts{} + w.integers.ratios[group];
  for (std::int64_t k = 0; k < kIntegerChunk; k += kMany) {
    const auto bytes = load_many<ManyBytes>(codes + k);
    ManyInts centred = __builtin_convertvector(bytes, ManyInts);
    if (w.code == PackedCode::u8) centred = (centred & 255) - w.zero;
    const ManyInts integer = (centred * (1 << w.integers.shift) * ratio + (1 << 14)) >> 15;
    const ManyInts rounded = (integer + 8) >> 4;
    const ManyInts narrow = rounded > 127 ? ManyInts{} + 127 : rounded;
    const auto packed = __builtin_convertvector(narrow, ManyBytes);
    __builtin_memcpy(to + k, &packed, sizeof packed);
  }
}

/// A chunk of 4-bit codes, less the zero point and times the ratio: upper bytes, so that 256 times
/// them and the signed lower ones are the element, and kTilePlane further the lower ones.
inline void split_chunk(const CodeStep& s, const std::byte* codes, std::int64_t group,
                        std::byte* to) {
  const PackedWeight& w = *s.w;
  const int zero = w.zeros != nullptr ? w.zeros[group] : w.zero;
  const auto both = __builtin_convertvector(load_many<ManyBytes>(codes), ManyInts);
  const ManyInts ratio = ManyInts{} + w.integers.ratios[group];
  // Elements 2 i and 2 i + 1 are the halves of a byte.
  const ManyInts even = ((both & 15) - zero) * ratio, odd = ((both >> 4 & 15) - zero) * ratio;
  const ManyInts even_high = (even + 128) >> 8, odd_high = (odd + 128) >> 8;
  const auto pairs = [](ManyInts a, ManyInts b) __attribute__((always_inline)) {
    return __builtin_convertvector((a & 255) | (b & 255) << 8, ManyWords);
  };
  const ManyWords high = pairs(even_high, odd_high), low = pairs(even, odd);
  __builtin_memcpy(to, &high, sizeof high);
  __builtin_memcpy(to + kTilePlane, &low, sizeof low);
}

/// A step of an output into its row of tiles, zeros behind its end. `to` is the row in the first
/// tile of the first plane.
template <bool Nibbles>
inline void unpack_step(const CodeStep& s, std::byte* to) {
  constexpr std::int64_t kChunkBytes = Nibbles ? kIntegerChunk / 2 : kIntegerChunk;
  const PackedWeight& w = *s.w;
  const std::byte* codes = w.row(s.out) + (Nibbles ? s.first / 2 : s.first);
  const std::int64_t group = w.group_of(s.out, s.first), share = w.group_cols / kIntegerChunk;
  const bool single = w.group_cols >= kDotStep || w.group_cols >= w.in;
  const auto unpack = [&](const std::byte* from, std::int64_t at, std::byte* chunk) {
    if constexpr (Nibbles) return split_chunk(s, from, at, chunk);
    narrow_chunk(s, from, at, chunk);
  };
  std::int64_t at = group, left = share;
  for (std::int64_t k = 0; k < s.depth; k += kIntegerChunk, codes += kChunkBytes, --left) {
    if (!single && left == 0) {
      ++at;
      left = share;
    }
    std::byte* chunk = to + k / kByteRun * kTileBytes + k % kByteRun;
    const std::int64_t rest = s.depth - k;
    if (rest >= kIntegerChunk) {
      unpack(codes, at, chunk);
      continue;
    }
    std::byte copy[kIntegerChunk] = {};
    __builtin_memcpy(copy, codes, static_cast<std::size_t>(Nibbles ? (rest + 1) / 2 : rest));
    unpack(copy, at, chunk);
    for (std::int64_t i = rest; i < kIntegerChunk; ++i) {  // a code of 0 is no 0
      chunk[i] = std::byte{};
      if constexpr (Nibbles) chunk[kTilePlane + i] = std::byte{};
    }
  }
  const std::int64_t end = (s.depth + kIntegerChunk - 1) / kIntegerChunk * kIntegerChunk;
  if (end % kByteRun == 0) return;
  __builtin_memset(to + end / kByteRun * kTileBytes + kIntegerChunk, 0, kIntegerChunk);
  if constexpr (Nibbles)
    __builtin_memset(to + kTilePlane + end / kByteRun * kTileBytes + kIntegerChunk, 0,
                     kIntegerChunk);
}

/// A step of a block of outputs: [tile of outputs][plane][tile].
template <bool Nibbles>
inline void unpack_block(const DotIntegers& p, std::int64_t out, std::int64_t first,
                         std::byte* tiles) {
  const std::int64_t outs = at_most(p.outs - out, kBlock);
  for (std::int64_t o = 0; o < outs; ++o) {
    unpack_step<Nibbles>({p.w, p.first_out + out + o, first, at_most(p.w->in - first, kDotStep)},
                         tiles + o / kTileSide * 2 * kTilePlane + o % kTileSide * kLineBytes);
  }
}

/// One block of outputs and rows in one step.
struct ByteBlock {
  TileShape shape;
  std::int64_t out = 0, row = 0, first = 0;
};

/// Sums of the products of a block with one plane of its weights.
inline void plane_products(Registers& registers, const DotIntegers& p, const ByteBlock& b,
                           const std::byte* plane, std::int32_t* sums) {
  BlockRuns runs;
  runs.tiles = (at_most(p.w->in - b.first, kDotStep) + kByteRun - 1) / kByteRun;
  for (std::int64_t i = 0; i < 2; ++i) {
    runs.weights[i] = {plane + i * 2 * kTilePlane, kLineBytes, kTileBytes};
    const std::byte* group = p.x + (b.row + i * kTileSide) * p.x_stride;
    runs.rows[i] = {group + b.first * b.shape.rows[i], 4 * b.shape.rows[i],
                    kByteRun * b.shape.rows[i]};
  }
  run_block<OfBytes>(registers, b.shape, runs, true, sums);
}

/// totals (four tiles) = or += sums, scaled.
inline void add_sums(const DotIntegers& p, const ByteBlock& b, const std::int32_t* sums,
                     float* totals) {
  const std::int64_t step = b.first / kDotStep;
  const float unit = p.w->code == PackedCode::u4 ? 1 : kNarrowUnit;
  const float* scales =
      p.w->integers.steps + step * p.w->integers.step_stride + p.first_out + b.out;
  for (std::int64_t j = 0; j < 2 && b.shape.rows[j] > 0; ++j) {
    alignas(64) float row_scales[kTileSide] = {};
    for (std::int64_t r = 0; r < b.shape.rows[j]; ++r)
      row_scales[r] = p.x_scales[(b.row + j * kTileSide + r) * p.steps + step] * unit;
    const auto factors = load_many<ManyFloats>(row_scales);
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t o = 0; o < b.shape.outs[i]; ++o) {
        const std::int64_t at = (2 * i + j) * kTileSums + o * kTileSide;
        const auto sum = __builtin_convertvector(load_many<ManyInts>(sums + at), ManyFloats);
        ManyFloats total = sum * (factors * scales[i * kTileSide + o]);
        if (b.first != 0) total = load_many<ManyFloats>(totals + at) + total;
        __builtin_memcpy(totals + at, &total, sizeof total);
      }
    }
  }
}

/// upper = 256 · upper + lower, modulo 2^32: a step's sum fits.
inline void join_planes(std::int32_t* upper, const std::int32_t* lower) {
  for (std::int64_t i = 0; i < 4 * kTileSums; ++i)
    upper[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(upper[i]) * 256 +
                                         static_cast<std::uint32_t>(lower[i]));
}

/// Scratch of a product; what tiles do not fill of it is never used, but read.
struct ByteScratch {
  alignas(64) std::byte weights[4 * kTilePlane] = {};
  alignas(64) std::int32_t sums[4 * kTileSums] = {}, lower[4 * kTileSums] = {};
};

template <bool Nibbles>
inline void multiply_block(Registers& registers, const DotIntegers& p, const ByteBlock& b,
                           ByteScratch& s, float* totals) {
  plane_products(registers, p, b, s.weights, s.sums);
  if constexpr (Nibbles) {
    plane_products(registers, p, b, s.weights + kTilePlane, s.lower);
    join_planes(s.sums, s.lower);
  }
  add_sums(p, b, s.sums, totals);
}

template <bool Nibbles>
inline void multiply_byte_rows(const DotIntegers& p) {
  alignas(64) float totals[kTileOutputs * kTileRows];
  ByteScratch scratch;
  float no_bias[kTileOutputs];
  for (float& none : no_bias) none = -0.0F;  // x + -0 is x, whatever its sign
  Registers registers;
  TileProduct whole;  // what shapes and ends of blocks are told by
  whole.rows = p.rows;
  whole.outs = p.outs;
  whole.bias = p.bias != nullptr ? p.bias : no_bias;
  whole.y = p.y;
  whole.y_stride = p.y_stride;
  const std::int64_t blocks = (p.rows + kBlock - 1) / kBlock;
  const auto totals_at = [&](std::int64_t out, std::int64_t block) {
    return totals + (out / kBlock * blocks + block) * 4 * kTileSums;
  };
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    for (std::int64_t out = 0; out < p.outs; out += kBlock) {
      unpack_block<Nibbles>(p, out, first, scratch.weights);
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t row = block * kBlock;
        multiply_block<Nibbles>(registers, p, {shape_at(whole, out, row), out, row, first}, scratch,
                                totals_at(out, block));
      }
    }
  }
  for (std::int64_t out = 0; out < p.outs; out += kBlock) {
    for (std::int64_t block = 0; block < blocks; ++block)
      finish_block(whole, shape_at(whole, out, block * kBlock), out, block * kBlock,
                   totals_at(out, block));
  }
}

void multiply_byte_tiles(const DotIntegers& p) {
  if (p.w->code == PackedCode::u4) return multiply_byte_rows<true>(p);
  multiply_byte_rows<false>(p);
}

constexpr ByteProducts kByteTiles{kTileRows, kTileOutputs, lay_byte_tiles, multiply_byte_tiles,
                                  true};
