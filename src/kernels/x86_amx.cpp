// Tile products with the registers of AMX. The instructions stand as assembly: they name their
// registers, and intrinsics of GCC 12 tell the compiler neither that memory is read nor that it is
// written.
#if defined(__x86_64__)

#include <cstddef>
#include <cstdint>

#include "kernels/bytes.hpp"
#include "kernels/target.hpp"
#include "kernels/tiles.hpp"

SIGHTLINE_TARGET_BEGIN(
    "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-bf16,amx-int8")

namespace sightline::kernels {
namespace {

/// The registers of the thread that runs; released when this ends. plain_tiles.hpp says what each
/// operation does. No compiler keeps values in these registers by itself, so that volatile
/// statements in their order are all that is needed.
class Tiles {
 public:
  Tiles() = default;
  ~Tiles() { __asm__ volatile("tilerelease" ::: "memory"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  void configure(const TileShape& shape) {
    Config config;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) config.set(2 * i + j, shape.outs[i], 4 * shape.rows[j]);
      config.set(4 + i, shape.outs[i], 2 * kTileDepth);
      config.set(6 + i, kTileSide, 4 * shape.rows[i]);
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(config) : "memory");
  }
  template <int T>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  void load(const void* from, std::int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(T) : "memory");
  }
  template <int T>
  void store(void* to, std::int64_t stride) const {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  void multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
  template <int C, int A, int B>
  void multiply_bytes() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }

 private:
  /// The operand of LDTILECFG (palette 1: eight registers of at most 16 rows of 64 bytes).
  struct alignas(64) Config {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t bytes_of_row[16] = {};
    std::uint8_t rows[16] = {};

    /// One that has no rows or no columns has neither: it is not configured.
    void set(int tile, std::int64_t tile_rows, std::int64_t row_bytes) {
      if (tile_rows == 0 || row_bytes == 0) return;
      rows[tile] = static_cast<std::uint8_t>(tile_rows);
      bytes_of_row[tile] = static_cast<std::uint16_t>(row_bytes);
    }
  };
  static_assert(sizeof(Config) == 64);
};

// Blank lines keep the order: each file uses the ones before it.
#include "kernels/loops.inc.hpp"

#include "kernels/tiles.inc.hpp"

#include "kernels/byte_tiles.inc.hpp"

}  // namespace

const TileProducts kAmxTiles = kProducts;
const ByteProducts kAmxByteTiles = kByteTiles;

}  // namespace sightline::kernels

SIGHTLINE_TARGET_END

#endif  // defined(__x86_64__)
