// Products of bytes: activations of 8 bits with weights of 8, for sets that gain from it. Only
// src/kernels/ includes this file. What is computed is defined here once, and in plain C++ by
// reference_bytes.cpp; the sums of a step are exact, so that every implementation gives its bits.
//
// A weight packed as bytes in integer form (IntegerForm) becomes integers of 8 bits with one scale
// for each row and step: where its group has the greatest scale of the step these are the codes. A
// row of activations becomes integers of at most kMostByteActivation, one scale a step. For codes
// of 4 bits the definition is that of DotIntegers, with any set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/table.hpp"
#include "tensor/integer_form.hpp"

namespace sightline::kernels {

/// True for codes of 8 bits without zero points of their own: those need a ninth bit, and keep
/// activations of 16.
inline bool has_narrow_integers(const PackedWeight& w) {
  constexpr int kShift = 8;
  return w.code != PackedCode::u4 && w.integers && w.integers.shift == kShift;
}
/// The integer of 8 bits for one of 12 (integer_at).
constexpr std::int32_t narrow_integer(std::int32_t integer) {
  constexpr std::int32_t kHalf = 8, kMost = 127;  // only 128 · ratio −2048 has no place
  return std::min((integer + kHalf) >> 4, kMost);
}
/// What its scale is multiplied by: 2^4.
inline constexpr float kNarrowUnit = 16;

/// Columns of a run, to whose multiples rows are padded.
inline constexpr std::int64_t kByteRun = 64;
/// Bytes that a row of `in` values takes: an odd number of runs, so that rows which lie one after
/// the other fall into all sets of a cache.
constexpr std::int64_t byte_stride(std::int64_t in) {
  return ((in + kByteRun - 1) / kByteRun | 1) * kByteRun;
}

/// Rounds rows, step by step, with the scales of step_scale(), as ByteProducts::multiply reads
/// them.
struct ByteRows {
  const float* x = nullptr;
  std::int64_t x_stride = 0, rows = 0, in = 0;
  std::byte* out = nullptr;  ///< byte_stride(in) for each row
  float* scales = nullptr;   ///< [rows][integer_steps(in)]
};

/// Entries are called from worker threads; they allocate nothing and keep no state.
struct ByteProducts {
  /// At most so many rows, and outputs, of one call of multiply.
  std::int64_t rows = 0, outs = 0;
  /// Begins with row 0, or one that a multiple of `rows` precedes.
  void (*lay_rows)(const ByteRows& p) = nullptr;
  /// y[r, o] = Σ over steps of float(Σ_k x · w) · ((x_scale · kNarrowUnit) · step) + bias[o], steps
  /// in ascending order; `groups` is not used. Codes of 4 bits if `nibbles`: without kNarrowUnit.
  void (*multiply)(const DotIntegers& p) = nullptr;
  bool nibbles = false;
};

extern const ByteProducts kPlainBytes;      // reference_bytes.cpp
extern const ByteProducts kPlainByteTiles;  // amx_twin.cpp
#if defined(__x86_64__)
extern const ByteProducts kAmxByteTiles;  // x86_amx.cpp
#endif

}  // namespace sightline::kernels
