// Included by every file that provides tile products, inside its namespace, after its type Tiles
// (eight registers as plain_tiles.hpp has them): laying rows out, blocks of four tiles of sums, and
// the way through a product. What is read when, and from where, alters no bit: sums that leave the
// registers come back as they were.

constexpr std::int64_t kBlock = 2 * kTileSide;  // outputs, and rows, of a block of four tiles
constexpr std::int64_t kTileBytes = kTileSide * kTileDepth * 2, kTileSums = kTileSide * kTileSide;
/// Tiles of a step: 32 KiB of weights, which stay in the first-level cache for all rows.
constexpr std::int64_t kStepTiles = 16;
/// Tiles ahead of a product that reads weights from memory: 16 KiB of a block.
constexpr std::int64_t kAheadTiles = 8;
constexpr std::int64_t kLineBytes = 64;  // of a cache, and of a row of a tile

// Moving four by four values across: vector types of GCC and Clang, for any machine.
using FourFloats = float __attribute__((vector_size(16)));
using FourWords = std::uint32_t __attribute__((vector_size(16)));

/// The columns of what were the rows.
template <class V>
inline void turn_four(V (&v)[4]) {
  const V a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
          b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7),
          c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
          d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/// Pairs of up to kTileDepth values of a row, rounded, zeros behind them.
inline void round_pairs(const float* x, std::int64_t count, std::uint32_t* pairs) {
  float values[kTileDepth];
  bf16 rounded[kTileDepth];
  if (count < kTileDepth) {
    for (std::int64_t k = 0; k < kTileDepth; ++k) values[k] = k < count ? x[k] : 0.0F;
    x = values;
  }
  for (std::int64_t k = 0; k < kTileDepth; ++k) rounded[k] = to_bf16(x[k]);
  __builtin_memcpy(pairs, rounded, sizeof rounded);
}

/// One tile of a group of `rows` rows: [pair][row].
inline void lay_tile(const std::uint32_t (&pairs)[kTileSide][kTileSide], std::int64_t rows,
                     std::byte* out) {
  constexpr std::int64_t kPair = sizeof pairs[0][0];
  if (rows < kTileSide) {
    for (std::int64_t k = 0; k < kTileSide; ++k) {
      for (std::int64_t r = 0; r < rows; ++r)
        __builtin_memcpy(out + (k * rows + r) * kPair, &pairs[r][k], kPair);
    }
    return;
  }
  for (std::int64_t k = 0; k < kTileSide; k += 4) {
    for (std::int64_t r = 0; r < kTileSide; r += 4) {
      FourWords v[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&v[i], &pairs[r + i][k], sizeof v[i]);
      turn_four(v);
      for (int i = 0; i < 4; ++i)
        __builtin_memcpy(out + ((k + i) * kTileSide + r) * kPair, &v[i], sizeof v[i]);
    }
  }
}

void lay_rows(const TileRows& p) {
  std::uint32_t pairs[kTileSide][kTileSide];
  auto* out = reinterpret_cast<std::byte*>(p.out);
  for (std::int64_t row = 0; row < p.rows; row += kTileSide) {
    const std::int64_t rows = at_most(p.rows - row, kTileSide);
    for (std::int64_t k = 0; k < p.in; k += kTileDepth) {
      for (std::int64_t r = 0; r < rows; ++r)
        round_pairs(p.x + (row + r) * p.x_stride + k, at_most(p.in - k, kTileDepth), pairs[r]);
      lay_tile(pairs, rows, out);
      out += rows * kTileDepth * 2;
    }
  }
}

/// The registers of this thread while it lives.
struct Registers {
  Tiles tiles;
  TileShape shape;

  void use(const TileShape& wanted) {
    if (wanted == shape) return;
    tiles.configure(wanted);
    shape = wanted;
  }
};

/// Tiles one after the other: `stride` bytes between the rows of a tile, `step` between tiles.
struct TileRun {
  const std::byte* first = nullptr;
  std::int64_t stride = 0, step = 0;
};

/// What a block of M tiles of outputs and N tiles of rows reads.
struct BlockRuns {
  TileRun weights[2], rows[2];
  std::int64_t tiles = 0;
  /// Weights from memory: the block's own lines kAheadTiles further, and those of the block behind
  /// it where its own end and `next` says so.
  bool ahead = false, next = false;
};

/// Asks for what the block reads kAheadTiles after tile `k`.
inline void ask_ahead(const BlockRuns& p, std::int64_t k) {
  std::int64_t at = k + kAheadTiles, row = 0;
  if (at >= p.tiles) {
    if (!p.next) return;
    at -= p.tiles;
    row = kBlock;
  }
  const TileRun& run = p.weights[0];
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(run.first) +
                                 static_cast<std::uintptr_t>(row * run.stride + at * run.step);
  for (std::int64_t r = 0; r < kBlock; ++r)
    fetch(address + static_cast<std::uintptr_t>(r * run.stride));
}

/// What tiles hold, as the name of their product.
struct OfBf16 {
  using Sum = float;
  template <int C, int A, int B>
  static void multiply(Tiles& t) {
    t.template multiply<C, A, B>();
  }
};

/// sums (four tiles) = or += the products of a block.
template <int M, int N, class Of>
inline void block_products(Tiles& t, const BlockRuns& p, bool from_zero, typename Of::Sum* sums) {
  constexpr std::int64_t kStride = kTileSide * static_cast<std::int64_t>(sizeof sums[0]);
  const auto each_sum = [&](const auto& use) {
    use.template operator()<0>();
    if constexpr (N == 2) use.template operator()<1>();
    if constexpr (M == 2) use.template operator()<2>();
    if constexpr (M == 2 && N == 2) use.template operator()<3>();
  };
  each_sum([&]<int S>() {
    if (from_zero) return t.template zero<S>();
    t.template load<S>(sums + S * kTileSums, kStride);
  });
  for (std::int64_t k = 0; k < p.tiles; ++k) {
    if (p.ahead) ask_ahead(p, k);
    t.template load<6>(p.rows[0].first + k * p.rows[0].step, p.rows[0].stride);
    t.template load<4>(p.weights[0].first + k * p.weights[0].step, p.weights[0].stride);
    Of::template multiply<0, 4, 6>(t);
    if constexpr (N == 2) {
      t.template load<7>(p.rows[1].first + k * p.rows[1].step, p.rows[1].stride);
      Of::template multiply<1, 4, 7>(t);
    }
    if constexpr (M == 2) {
      t.template load<5>(p.weights[1].first + k * p.weights[1].step, p.weights[1].stride);
      Of::template multiply<2, 5, 6>(t);
      if constexpr (N == 2) Of::template multiply<3, 5, 7>(t);
    }
  }
  each_sum([&]<int S>() { t.template store<S>(sums + S * kTileSums, kStride); });
}

template <class Of = OfBf16>
inline void run_block(Registers& registers, const TileShape& shape, const BlockRuns& p,
                      bool from_zero, typename Of::Sum* sums) {
  registers.use(shape);
  if (shape.outs[1] > 0 && shape.rows[1] > 0)
    return block_products<2, 2, Of>(registers.tiles, p, from_zero, sums);
  if (shape.outs[1] > 0) return block_products<2, 1, Of>(registers.tiles, p, from_zero, sums);
  if (shape.rows[1] > 0) return block_products<1, 2, Of>(registers.tiles, p, from_zero, sums);
  block_products<1, 1, Of>(registers.tiles, p, from_zero, sums);
}

inline TileShape shape_at(const TileProduct& p, std::int64_t out, std::int64_t row) {
  TileShape shape;
  for (std::int64_t i = 0; i < 2; ++i) {
    const std::int64_t outs = p.outs - out - i * kTileSide, rows = p.rows - row - i * kTileSide;
    shape.outs[i] = outs < 0 ? 0 : at_most(outs, kTileSide);
    shape.rows[i] = rows < 0 ? 0 : at_most(rows, kTileSide);
  }
  return shape;
}

/// Tiles from the `tile`-th on of two groups of rows.
inline void set_rows(const TileProduct& p, const TileShape& shape, std::int64_t row,
                     std::int64_t tile, BlockRuns& runs) {
  constexpr std::int64_t kPair = 4;
  for (std::int64_t j = 0; j < 2 && shape.rows[j] > 0; ++j) {
    const bf16* group = p.x + (row + j * kTileSide) * tile_stride(p.in);
    runs.rows[j] = {reinterpret_cast<const std::byte*>(group + tile * kTileDepth * shape.rows[j]),
                    kPair * shape.rows[j], kPair * kTileSide * shape.rows[j]};
  }
}

/// `rows` of a tile of sums, turned, with the bias, into y.
inline void finish_tile(const float* sums, std::int64_t outs, std::int64_t rows, const float* bias,
                        float* y, std::int64_t y_stride) {
  if (outs < kTileSide || rows % 4 != 0) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < outs; ++o)
        y[r * y_stride + o] = sums[o * kTileSide + r] + (bias != nullptr ? bias[o] : 0.0F);
    }
    return;
  }
  for (std::int64_t o = 0; o < kTileSide; o += 4) {
    FourFloats add = {};
    if (bias != nullptr) __builtin_memcpy(&add, bias + o, sizeof add);
    for (std::int64_t r = 0; r < rows; r += 4) {
      FourFloats v[4];
      for (int i = 0; i < 4; ++i)
        __builtin_memcpy(&v[i], sums + (o + i) * kTileSide + r, sizeof v[i]);
      turn_four(v);
      for (int i = 0; i < 4; ++i) {
        v[i] += add;
        __builtin_memcpy(y + (r + i) * y_stride + o, &v[i], sizeof v[i]);
      }
    }
  }
}

inline void finish_block(const TileProduct& p, const TileShape& shape, std::int64_t out,
                         std::int64_t row, const float* sums) {
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      const std::int64_t o = out + i * kTileSide, r = row + j * kTileSide;
      if (shape.outs[i] == 0 || shape.rows[j] == 0) continue;
      finish_tile(sums + (2 * i + j) * kTileSums, shape.outs[i], shape.rows[j],
                  p.bias != nullptr ? p.bias + o : nullptr, p.y + r * p.y_stride + o, p.y_stride);
    }
  }
}

/// Tiles [tile, tile + count) of a block's outputs, one after the other, zeros behind the last
/// column: 2 x count tiles.
inline void copy_weights(const TileProduct& p, std::int64_t out, std::int64_t tile,
                         std::int64_t count, std::byte* to) {
  const std::int64_t outs = at_most(p.outs - out, kBlock);
  for (std::int64_t o = 0; o < outs; ++o) {
    const std::byte* from = p.w + ((out + o) * p.in + tile * kTileDepth) * 2;
    std::byte* row = to + (o / kTileSide * count * kTileSide + o % kTileSide) * kLineBytes;
    const std::int64_t whole = at_most((p.in - tile * kTileDepth) / kTileDepth, count);
    for (std::int64_t t = 0; t < whole; ++t)
      __builtin_memcpy(row + t * kTileBytes, from + t * kLineBytes, kLineBytes);
    if (whole == count) continue;
    const std::int64_t rest = 2 * (p.in % kTileDepth);
    __builtin_memset(row + whole * kTileBytes, 0, kLineBytes);
    __builtin_memcpy(row + whole * kTileBytes, from + whole * kLineBytes,
                     static_cast<std::size_t>(rest));
  }
}

inline void set_copied(const std::byte* weights, std::int64_t count, BlockRuns& runs) {
  for (std::int64_t i = 0; i < 2; ++i)
    runs.weights[i] = {weights + i * count * kTileBytes, kLineBytes, kTileBytes};
  runs.tiles = count;
}

/// Few rows: weights straight from where they are stored, each read once.
inline void multiply_few(const TileProduct& p) {
  alignas(64) float sums[4 * kTileSums];
  alignas(64) std::byte last[2 * kTileBytes];
  Registers registers;
  const std::int64_t whole = p.in / kTileDepth, row_bytes = 2 * p.in;
  for (std::int64_t out = 0; out < p.outs; out += kBlock) {
    const TileShape shape = shape_at(p, out, 0);
    BlockRuns runs;
    runs.tiles = whole;
    runs.ahead = true;
    runs.next = out + kBlock < p.outs;
    for (std::int64_t i = 0; i < 2 && shape.outs[i] > 0; ++i)
      runs.weights[i] = {p.w + (out + i * kTileSide) * row_bytes, row_bytes, kLineBytes};
    set_rows(p, shape, 0, 0, runs);
    run_block(registers, shape, runs, true, sums);
    if (p.in % kTileDepth != 0) {
      BlockRuns rest;
      copy_weights(p, out, whole, 1, last);
      set_copied(last, 1, rest);
      set_rows(p, shape, 0, whole, rest);
      run_block(registers, shape, rest, false, sums);
    }
    finish_block(p, shape, out, 0, sums);
  }
}

/// Where the step of a block begins that is copied after this one; 0 if this is the last.
inline std::uintptr_t next_step(const TileProduct& p, std::int64_t out, std::int64_t tile) {
  out += kBlock;
  if (out >= p.outs) {
    out = 0;
    tile += kStepTiles;
  }
  if (tile * kTileDepth >= p.in) return 0;
  return reinterpret_cast<std::uintptr_t>(p.w + 2 * (out * p.in + tile * kTileDepth));
}

/// Asks for one of `shares` shares of the rows of a step.
inline void fetch_share(std::uintptr_t step, std::int64_t row_bytes, std::int64_t share,
                        std::int64_t shares) {
  if (step == 0) return;
  const std::int64_t end = kBlock * (share + 1) / shares;
  for (std::int64_t r = kBlock * share / shares; r < end; ++r) {
    for (std::int64_t line = 0; line < kStepTiles; ++line)
      fetch(step + static_cast<std::uintptr_t>(r * row_bytes + line * kLineBytes));
  }
}

/// Many rows: rows of weights lie a power of two apart more often than not, and then fall into few
/// sets of a cache, so that a step of a block is copied; its rows ask for the next one meanwhile.
inline void multiply_many(const TileProduct& p) {
  alignas(64) float sums[kTileOutputs * kTileRows];
  alignas(64) std::byte weights[2 * kStepTiles * kTileBytes];
  Registers registers;
  const std::int64_t tiles = tile_stride(p.in) / kTileDepth;
  const std::int64_t row_blocks = (p.rows + kBlock - 1) / kBlock;
  const auto sums_at = [&](std::int64_t out, std::int64_t block) {
    return sums + (out / kBlock * row_blocks + block) * 4 * kTileSums;
  };
  for (std::int64_t tile = 0; tile < tiles; tile += kStepTiles) {
    const std::int64_t count = at_most(tiles - tile, kStepTiles);
    for (std::int64_t out = 0; out < p.outs; out += kBlock) {
      BlockRuns runs;
      copy_weights(p, out, tile, count, weights);
      set_copied(weights, count, runs);
      const std::uintptr_t next = next_step(p, out, tile);
      for (std::int64_t block = 0; block < row_blocks; ++block) {
        fetch_share(next, 2 * p.in, block, row_blocks);
        const TileShape shape = shape_at(p, out, block * kBlock);
        set_rows(p, shape, block * kBlock, tile, runs);
        run_block(registers, shape, runs, tile == 0, sums_at(out, block));
      }
    }
  }
  for (std::int64_t out = 0; out < p.outs; out += kBlock) {
    for (std::int64_t block = 0; block < row_blocks; ++block)
      finish_block(p, shape_at(p, out, block * kBlock), out, block * kBlock, sums_at(out, block));
  }
}

void multiply_tiles(const TileProduct& p) {
  if (p.rows <= kBlock) return multiply_few(p);
  multiply_many(p);
}

/// Four sums, so that none waits for itself.
double multiply_adds_in_tiles(std::int64_t rounds) {
  alignas(64) const std::byte zeros[kTileBytes] = {};
  Registers registers;
  registers.use({{kTileSide, kTileSide}, {kTileSide, kTileSide}});
  Tiles& t = registers.tiles;
  t.load<4>(zeros, kLineBytes);
  t.load<5>(zeros, kLineBytes);
  t.load<6>(zeros, kLineBytes);
  t.load<7>(zeros, kLineBytes);
  for (std::int64_t i = 0; i < rounds; ++i) {
    t.multiply<0, 4, 6>();
    t.multiply<1, 4, 7>();
    t.multiply<2, 5, 6>();
    t.multiply<3, 5, 7>();
  }
  return static_cast<double>(rounds) * 4 * 2 * static_cast<double>(kTileSums * kTileDepth);
}

constexpr TileProducts kProducts{lay_rows, multiply_tiles, multiply_adds_in_tiles};
