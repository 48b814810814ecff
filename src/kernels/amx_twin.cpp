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

// A blank line keeps the order: the second file uses the first.
#include "kernels/tiles.inc.hpp"

#include "kernels/byte_tiles.inc.hpp"

}  // namespace

const TileProducts kPlainTiles = kProducts;
const ByteProducts kPlainByteTiles = kByteTiles;

}  // namespace sightline::kernels
