// Tile products over registers in plain C++ (plain_tiles.hpp): the loops of the AMX set, and its
// bits, on any machine.
#include <cstddef>
#include <cstdint>

#include "kernels/bytes.hpp"
#include "kernels/plain_tiles.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

using Tiles = PlainTiles;

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/loops.inc.hpp"

#include "kernels/tiles.inc.hpp"

#include "kernels/byte_tiles.inc.hpp"

}  // namespace

const TileProducts kPlainTiles = kProducts;
const ByteProducts kPlainByteTiles = kByteTiles;

}  // namespace sightline::kernels
