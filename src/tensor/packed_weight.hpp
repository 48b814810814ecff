// PackedWeight: a matrix [out, in] whose elements are small codes with a scale for every block of
// them, as quantised checkpoints store it. Kernels multiply by it from this form; nothing else of
// the engine knows what a code means. Borrows the checkpoint's bytes where their order is that of
// the kernels, else owns a rearranged copy and the file's pages can leave memory again: a weight is
// resident once. Immutable after load, shared by all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bf16.hpp"
#include "base/bytes.hpp"
#include "sightline/tensor.hpp"

namespace sightline {

/// What the codes of a packed weight are.
enum class PackedCode : std::uint8_t {
  u4,       ///< unsigned, two in a byte, the lower half first
  u8,       ///< unsigned
  i8,       ///< two's complement
  f8_e4m3,  ///< float of 8 bits: 4 of exponent, 3 of fraction, no infinities
};

/// "int4", "int8" or "float8_e4m3", as reports show it.
constexpr const char* code_name(PackedCode code) noexcept {
  if (code == PackedCode::u4) return "int4";
  return code == PackedCode::f8_e4m3 ? "float8_e4m3" : "int8";
}

/// Bytes of a row of `in` codes, rounded up to `unit` bytes.
constexpr std::int64_t packed_row_bytes(PackedCode code, std::int64_t in, std::int64_t unit = 1) {
  const std::int64_t bytes = code == PackedCode::u4 ? (in + 1) / 2 : in;
  return (bytes + unit - 1) / unit * unit;
}

/// Columns of a step of an integer product (kernels: kDotStep).
inline constexpr std::int64_t kIntegerStep = 512;
constexpr std::int64_t integer_steps(std::int64_t in) {
  return (in + kIntegerStep - 1) / kIntegerStep;
}

/// The same elements as integers with one scale for every row and step of kIntegerStep columns, so
/// that products are sums of integers, exact in any order:
/// w[o, j] ≈ integer[o, j] · steps[j / kIntegerStep][o], where integer[o, j] is
/// (code[o, j] − zero) · ratios[group of (o, j)] for codes of 4 bits, and of 12 bits for the
/// others:
/// (((code[o, j] − zero) << shift) · ratios[group of (o, j)] + 2^14) >> 15.
struct IntegerForm {
  int shift = 0;
  bool uniform = false;  ///< every ratio is kMostRatio: codes less `zero` are the integers
  const std::int16_t* ratios = nullptr;  ///< as the weight's `scales`; at most kMostRatio
  const float* steps = nullptr;          ///< [steps][step_stride]
  std::int64_t step_stride = 0;
  /// Codes of 4 bits: −kByteMiddle · Σ integer[o, j] of a step, [steps][step_stride]; else null.
  const std::int32_t* offsets = nullptr;
  // What the pointers point into; shared by parts of the weight.
  std::shared_ptr<const std::vector<std::int16_t>> owned_ratios;
  std::shared_ptr<const std::vector<float>> owned_steps;
  std::shared_ptr<const std::vector<std::int32_t>> owned_offsets;

  static constexpr int kMostRatio = 2048;  ///< of the greatest scale of a step

  explicit operator bool() const { return ratios != nullptr; }
};

/// w[o, columns[j]] = (code[o, j] − zero) · scale in float32, rounded once; scale and zero are
/// those of block (o / group_rows, j / group_cols). Without `columns` j is the column itself; with
/// them the columns lie in the order of their groups (GPTQ's act order), and the left operand is
/// gathered in that order.
struct PackedWeight {
  PackedCode code = PackedCode::u8;
  std::int64_t out = 0, in = 0;
  std::int64_t row_bytes = 0;
  const std::byte* codes = nullptr;  ///< [out][row_bytes]

  std::int64_t group_rows = 1, group_cols = 1;  ///< outputs and columns that share a scale
  std::int64_t groups = 1;                      ///< of a row: in / group_cols, rounded up
  DType scale_dtype = DType::f32;               ///< f32, bf16 or f16
  const std::byte* scales = nullptr;            ///< [out / group_rows, rounded up][groups]
  const std::uint8_t* zeros = nullptr;          ///< as `scales`; null: `zero` everywhere
  std::uint8_t zero = 0;
  const std::int32_t* columns = nullptr;  ///< (in), or null

  IntegerForm integers;  ///< empty unless products are to round activations (integer_form.hpp)

  // What the pointers above point into, where it is not the checkpoint.
  Bytes owned_codes;
  std::vector<std::byte> owned_scales;
  std::vector<std::uint8_t> owned_zeros;
  std::vector<std::int32_t> owned_columns;
  std::shared_ptr<const PackedWeight> whole;  ///< of which this is some rows, or null

  PackedWeight() = default;
  PackedWeight(const PackedWeight&) = delete;
  PackedWeight& operator=(const PackedWeight&) = delete;

  [[nodiscard]] const std::byte* row(std::int64_t o) const { return codes + o * row_bytes; }
  [[nodiscard]] std::int64_t scale_count() const {
    return (out + group_rows - 1) / group_rows * groups;
  }
  /// Index of the scale (and zero) of an element.
  [[nodiscard]] std::int64_t group_of(std::int64_t o, std::int64_t j) const {
    return o / group_rows * groups + j / group_cols;
  }
  [[nodiscard]] float scale(std::int64_t index) const {
    if (scale_dtype == DType::f32) {
      float value = 0;
      std::memcpy(&value, scales + index * 4, sizeof value);
      return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, scales + index * 2, sizeof bits);
    return scale_dtype == DType::bf16 ? widen(bf16{bits}) : widen(f16{bits});
  }
  [[nodiscard]] float zero_of(std::int64_t index) const {
    return static_cast<float>(zeros != nullptr ? zeros[index] : zero);
  }
  /// Everything that a product reads.
  [[nodiscard]] std::int64_t bytes() const {
    const std::int64_t scale_bytes =
        integers ? dtype_size(DType::bf16) : dtype_size(scale_dtype);  // ratios have 16 bits
    return out * row_bytes + scale_count() * (scale_bytes + (zeros != nullptr ? 1 : 0)) +
           (integers ? out * integer_steps(in) * dtype_size(DType::f32) : 0) +
           (integers.offsets != nullptr ? out * integer_steps(in) * dtype_size(DType::i32) : 0) +
           (columns != nullptr ? in * 4 : 0);
  }
};

/// Rows [first, first + count) of a weight whose rows have scales of their own.
inline std::shared_ptr<const PackedWeight> rows_of(std::shared_ptr<const PackedWeight> whole,
                                                   std::int64_t first, std::int64_t count) {
  auto part = std::make_shared<PackedWeight>();
  part->code = whole->code;
  part->out = count;
  part->in = whole->in;
  part->row_bytes = whole->row_bytes;
  part->codes = whole->row(first);
  part->group_cols = whole->group_cols;
  part->groups = whole->groups;
  part->scale_dtype = whole->scale_dtype;
  const std::int64_t scales = first * whole->groups;
  if (whole->scales != nullptr)
    part->scales = whole->scales + scales * dtype_size(whole->scale_dtype);
  if (whole->zeros != nullptr) part->zeros = whole->zeros + scales;
  part->zero = whole->zero;
  part->columns = whole->columns;
  part->integers = whole->integers;
  if (whole->integers) {
    part->integers.ratios += scales;
    part->integers.steps += first;
    if (part->integers.offsets != nullptr) part->integers.offsets += first;
  }
  part->whole = std::move(whole);
  return part;
}

}  // namespace sightline
