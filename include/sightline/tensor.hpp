// Element types, shapes and a named read-only view of a tensor: the form in which values cross the
// borders of the engine (files, traces, programs that use the library). Inside, computation uses
// Mat (src/base/mat.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace sightline {

/// Element types of safetensors files; f32, bf16 and f16 can be weights.
enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64
};

/// Bytes of one element.
constexpr std::int64_t dtype_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::f8_e5m2:
    case DType::f8_e4m3:
      return 1;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::u32:
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

/// Up to six dimensions, outermost first. Dimensions are never negative.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (const std::int64_t dim : dims) push(dim);
  }
  /// Appends a dimension; the caller checks rank() < kMaxRank.
  constexpr void push(std::int64_t dim) { dims_[static_cast<std::size_t>(rank_++)] = dim; }

  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](int i) const {
    return dims_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] constexpr std::int64_t back() const { return rank_ == 0 ? 1 : (*this)[rank_ - 1]; }
  /// Product of the dimensions; the parser has checked that it fits (1 for rank 0).
  [[nodiscard]] constexpr std::int64_t elements() const noexcept {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= (*this)[i];
    return product;
  }
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// A named tensor that somebody else owns, valid for the duration of a call. Rows of the last
/// dimension are contiguous and start `row_stride` elements apart (equal to the last dimension when
/// the tensor is dense).
struct TensorRef {
  std::string_view name;
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;  ///< may be unaligned
  std::int64_t row_stride = 0;
};

}  // namespace sightline
