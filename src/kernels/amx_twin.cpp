// Tile products over registers in plain C++ (plain_tiles.hpp): the loops of the AMX set, and its
// bits, on any machine.
#include <cstddef>
#include <cstdint>

#include "kernels/plain_tiles.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {
namespace {

using Tiles = PlainTiles;

#include "kernels/tiles.inc.hpp"

}  // namespace

const TileProducts kPlainTiles = kProducts;

}  // namespace sightline::kernels
