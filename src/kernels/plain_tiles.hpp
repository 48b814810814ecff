// Eight tile registers in plain C++, as documented for AMX (Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS, TDPBSSD), so
// that any machine tests what is written over them. Speed means nothing here.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bf16.hpp"
#include "kernels/tiles.hpp"

namespace sightline::kernels {

/// What a tile product reads for x: zero, with its sign, for a denormal number.
constexpr float read_in_tile(float x) {
  constexpr std::uint32_t kExponent = 0x7f800000U, kSign = 0x80000000U;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (bits & kExponent) == 0 ? std::bit_cast<float>(bits & kSign) : x;
}

/// a + b, rounded to nearest even; denormal operands and results become zero with their sign. A
/// result below 2^-126 needs no rounding, since it is a multiple of the smallest denormal number.
inline float add_in_tile(float a, float b) {
  return read_in_tile(read_in_tile(a) + read_in_tile(b));
}

/// sum + a · b, rounded once to nearest even and zero, with its sign, if it is then denormal. a and
/// b are bfloat16, none of the three is denormal.
///
/// In double precision the product (16 bits) is exact. The sum is inexact only if its operands
/// reach over more than 53 bits. Let e be the exponent of the greater one, which is a float32
/// itself (24 bits, or the product's 16). The smaller one is then below 2^(e - 28), and the next
/// point between two float32 values is at least 2^(e - 25) away: the exact and the double sum lie
/// on one side of it, both round to the greater operand, and rounding twice is rounding once.
/// Results are zero whose rounding to 24 bits, with an exponent of any size, is below 2^-126: those
/// below 2^-126 (1 - 2^-25), the middle between the least normal number and the one before it.
/// That limit fits into a double, and lies 2^(e - 25) or more from every greater operand too. What
/// is between it and 2^-126 becomes 2^-126 by the ordinary conversion.
inline float multiply_add_in_tile(float a, float b, float sum) {
  constexpr double kLeast = 0x1p-126 * (1 - 0x1p-25);
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(sum);
  const auto rounded = static_cast<float>(exact);
  return std::fabs(exact) < kLeast ? std::copysign(0.0F, rounded) : rounded;
}

class PlainTiles {
 public:
  /// Sums 2i + j: outs[i] x rows[j] floats; weights 4 + i: outs[i] rows of 64 bytes; activations 6
  /// + j: 16 rows of rows[j] pairs. All become zero.
  void configure(const TileShape& shape) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) registers_[2 * i + j] = {shape.outs[i], 4 * shape.rows[j], {}};
      registers_[4 + i] = {shape.outs[i], 2 * kTileDepth, {}};
      registers_[6 + i] = {kTileSide, 4 * shape.rows[i], {}};
    }
  }
  template <int T>
  void zero() {
    std::memset(registers_[T].bytes, 0, sizeof registers_[T].bytes);
  }
  template <int T>
  void load(const void* from, std::int64_t stride) {
    zero<T>();
    for (std::int64_t r = 0; r < registers_[T].rows; ++r) {
      std::memcpy(registers_[T].bytes[r], static_cast<const std::byte*>(from) + r * stride,
                  static_cast<std::size_t>(registers_[T].width));
    }
  }
  template <int T>
  void store(void* to, std::int64_t stride) const {
    for (std::int64_t r = 0; r < registers_[T].rows; ++r) {
      std::memcpy(static_cast<std::byte*>(to) + r * stride, registers_[T].bytes[r],
                  static_cast<std::size_t>(registers_[T].width));
    }
  }
  /// C += A · B.
  template <int C, int A, int B>
  void multiply() {
    Wide even, odd;
    float sums[kTileSide][kTileSide];
    widen_pairs(registers_[B], even, odd);
    std::memcpy(sums, registers_[C].bytes, sizeof sums);
    for (std::int64_t m = 0; m < registers_[C].rows; ++m) {
      bf16 a[kTileDepth];
      std::memcpy(a, registers_[A].bytes[m], sizeof a);
      add_products(a, even, odd, registers_[C].width / 4, sums[m]);
    }
    std::memcpy(registers_[C].bytes, sums, sizeof sums);
  }
  /// The same for signed bytes, four of them in a word, with sums of 32 bits: modulo 2^32.
  template <int C, int A, int B>
  void multiply_bytes() {
    const Register &a = registers_[A], &b = registers_[B];
    Register& c = registers_[C];
    for (std::int64_t m = 0; m < c.rows; ++m) {
      std::uint32_t sums[kTileSide];
      std::memcpy(sums, c.bytes[m], sizeof sums);
      for (std::int64_t k = 0; k < a.width; ++k) {
        const auto x = static_cast<std::int8_t>(a.bytes[m][k]);
        for (std::int64_t n = 0; n < c.width / 4; ++n) {
          const auto y = static_cast<std::int8_t>(b.bytes[k / 4][4 * n + k % 4]);
          sums[n] += static_cast<std::uint32_t>(x * y);
        }
      }
      std::memcpy(c.bytes[m], sums, sizeof sums);
    }
  }

 private:
  struct Register {
    std::int64_t rows = 0, width = 0;  ///< width in bytes
    std::byte bytes[kTileSide][4 * kTileSide] = {};
  };
  using Wide = float[kTileDepth / 2][kTileSide];

  static void widen_pairs(const Register& from, Wide& even, Wide& odd) {
    bf16 pairs[kTileDepth / 2][kTileSide][2];
    std::memcpy(pairs, from.bytes, sizeof pairs);
    for (std::int64_t k = 0; k < kTileDepth / 2; ++k) {
      for (std::int64_t n = 0; n < kTileSide; ++n) {
        even[k][n] = read_in_tile(widen(pairs[k][n][0]));
        odd[k][n] = read_in_tile(widen(pairs[k][n][1]));
      }
    }
  }
  static void add_products(const bf16 (&a)[kTileDepth], const Wide& even, const Wide& odd,
                           std::int64_t columns, float (&sums)[kTileSide]) {
    float first[kTileSide] = {}, second[kTileSide] = {};
    for (std::int64_t k = 0; k < kTileDepth / 2; ++k) {
      const float x = read_in_tile(widen(a[2 * k])), y = read_in_tile(widen(a[2 * k + 1]));
      for (std::int64_t n = 0; n < kTileSide; ++n) {
        first[n] = multiply_add_in_tile(x, even[k][n], first[n]);
        second[n] = multiply_add_in_tile(y, odd[k][n], second[n]);
      }
    }
    for (std::int64_t n = 0; n < columns; ++n)
      sums[n] = add_in_tile(sums[n], add_in_tile(first[n], second[n]));
  }

  Register registers_[8] = {};
};

}  // namespace sightline::kernels
