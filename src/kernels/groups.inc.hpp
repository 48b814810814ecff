// Included once by every vector set, inside its region, before panels.inc.hpp: how products of many
// rows read their operands. Rows lie in groups and weights in panels (GroupRows, GroupPanel), so
// that every register tile reads two runs of memory, which the processor itself reads ahead.

constexpr std::int64_t kTileOuts = 4;  // outputs of a register tile
constexpr std::int64_t kPanelOuts =
    8;  // outputs of a panel: of a step 16 KiB in float32, half a first-level cache

/// How far behind a block of outputs, which lie one after the other in so many bytes, lies what is
/// asked for while the block is multiplied: the next one, or more than that if they are short.
constexpr std::int64_t bytes_ahead(std::int64_t block_bytes) {
  constexpr std::int64_t kLeast = 8192;  // some hundred cycles of a loop over codes
  return block_bytes < kLeast ? kLeast : block_bytes;
}

/// f(0) … f(n − 1), four in a row between two tests of the end: what surrounds the few instructions
/// of an inner loop costs a third of its time otherwise.
template <class F>
inline void in_fours(std::int64_t n, const F& f) {
  std::int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    f(k);
    f(k + 1);
    f(k + 2);
    f(k + 3);
  }
  for (; k < n; ++k) f(k);
}

/// As many values as there are, zeros behind them.
inline Vec load_at_most(const float* p, std::int64_t count) {
  return count >= Vec::kLanes ? Vec::load(p) : Vec::load_first(p, count);
}

void group_rows(const GroupRows& p) {
  float* out = p.out;
  for (std::int64_t row = 0; row < p.rows; row += p.size) {
    const std::int64_t rows = at_most(p.rows - row, p.size);
    for (std::int64_t k = 0; k < p.depth; k += Vec::kLanes) {
      for (std::int64_t r = 0; r < p.size; ++r, out += Vec::kLanes) {
        const Vec part =
            r < rows ? load_at_most(p.x + (row + r) * p.x_stride + k, p.depth - k) : Vec::zero();
        part.store(out);
      }
    }
  }
}

/// Groups of rows of one step, [group][vectors][G], against a panel of outputs,
/// [cols / kTileOuts][vectors][kTileOuts], in vectors of floats or of pairs of integers.
template <int G>
struct GroupPanel {
  const void* groups = nullptr;
  std::int64_t rows = 0, cols = 0, vectors = 0;

  /// What a tile reads, in vectors from the first.
  [[nodiscard]] std::int64_t group_at(std::int64_t row) const { return row * vectors; }
  [[nodiscard]] std::int64_t output_at(std::int64_t col) const { return col * vectors; }
};

/// Bytes to ask for while a panel is multiplied: `rows` rows, each of `lines` cache lines, `stride`
/// bytes apart.
struct Ahead {
  std::uintptr_t start = 0;
  std::int64_t rows = 0, lines = 1, stride = 0;
};

/// All outputs for R rows of the group at `row`: tile.operator()<R, O>(row, col).
template <int R, int G, class Tile>
inline void group_outputs(const GroupPanel<G>& p, std::int64_t row, const Tile& tile) {
  std::int64_t col = 0;
  for (; col + kTileOuts <= p.cols; col += kTileOuts)
    tile.template operator()<R, kTileOuts>(row, col);
  switch (p.cols - col) {
    case 3:
      return tile.template operator()<R, 3>(row, col);
    case 2:
      return tile.template operator()<R, 2>(row, col);
    case 1:
      return tile.template operator()<R, 1>(row, col);
    default:
      return;
  }
}

/// A panel for all groups; each asks for its share of the next panel's weights.
template <int G, class Tile>
inline void group_panel(const GroupPanel<G>& p, const Ahead& weights, const Tile& tile) {
  std::int64_t line = 0;
  for (std::int64_t row = 0; row < p.rows; row += G) {
    const std::int64_t end = weights.rows * weights.lines * (row + G) / p.rows;
    for (; line < end; ++line) {
      fetch(weights.start + static_cast<std::uintptr_t>(line / weights.lines * weights.stride +
                                                        line % weights.lines * 64));
    }
    if (p.rows - row >= G) {
      group_outputs<G>(p, row, tile);
    } else if (p.rows - row == 1) {
      group_outputs<1>(p, row, tile);
    } else if (G > 3 && p.rows - row == 3) {
      group_outputs<at_most(G, 3)>(p, row, tile);
    } else {
      group_outputs<2>(p, row, tile);
    }
  }
}

/// Vector of column 0 of output `o` in a panel of so many vectors a row; the others lie kTileOuts
/// apart.
constexpr std::int64_t panel_row(std::int64_t o, std::int64_t vectors) {
  return o / kTileOuts * vectors * kTileOuts + o % kTileOuts;
}

/// Where the rows of the step from column `first` begin in a block of groups, in columns.
template <int G>
constexpr std::int64_t groups_at(std::int64_t rows, std::int64_t first) {
  return (rows + G - 1) / G * G * first;
}
