// Included once by every vector set, inside its region, before panels.inc.hpp: how products of many
// rows read their operands. Rows lie in groups and weights in panels (GroupRows, GroupPanel), so
// that every register tile reads two runs of memory; what comes next is asked for meanwhile.

constexpr std::int64_t at_most(std::int64_t n, std::int64_t limit) { return n < limit ? n : limit; }

constexpr std::int64_t kVectorBytes = Vec::kLanes * static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t kTileOuts = 4;  // outputs of a register tile
constexpr std::int64_t kPanelOuts =
    8;  // outputs of a panel: of a step 16 KiB in float32, half a first-level cache

/// Asks for a cache line. The address may lie behind the last weight (so it is no pointer); this
/// never faults.
inline void fetch(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

/// Asks for a cache line that is read next. Never faults.
inline void fetch_near(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 3);
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

/// Where a tile asks for lines that are read after it: `stride` bytes further for every vector.
struct Next {
  std::uintptr_t address, stride;
};

/// Bytes to ask for while a panel is multiplied: `rows` rows, each of `lines` cache lines, `stride`
/// bytes apart.
struct Ahead {
  std::uintptr_t start = 0;
  std::int64_t rows = 0, lines = 1, stride = 0;
};

/// All outputs for R rows of the group at `row`: tile.operator()<R, O>(row, col, next). Meanwhile
/// the next group (behind the last: the first, for the next panel) comes into the first-level
/// cache, every tile asking for its share.
template <int R, int G, class Tile>
inline void group_outputs(const GroupPanel<G>& p, std::int64_t row, const Tile& tile) {
  const std::int64_t following = row + G < p.rows ? row + G : 0;
  const std::int64_t stride = G * kVectorBytes / ((p.cols + kTileOuts - 1) / kTileOuts);
  Next next{reinterpret_cast<std::uintptr_t>(p.groups) +
                static_cast<std::uintptr_t>(p.group_at(following) * kVectorBytes),
            static_cast<std::uintptr_t>(stride)};
  std::int64_t col = 0;
  for (; col + kTileOuts <= p.cols; col += kTileOuts) {
    tile.template operator()<R, kTileOuts>(row, col, next);
    next.address += static_cast<std::uintptr_t>(p.vectors * stride);
  }
  switch (p.cols - col) {
    case 3:
      return tile.template operator()<R, 3>(row, col, next);
    case 2:
      return tile.template operator()<R, 2>(row, col, next);
    case 1:
      return tile.template operator()<R, 1>(row, col, next);
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
