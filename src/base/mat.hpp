// Mat: a 2-D row-major view, the one shape in which the engine computes: tokens (or patches) down,
// features across. It owns nothing and counts nothing. Copy it freely.
#pragma once

#include <cstdint>

namespace sightline {

template <class T>
struct Mat {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t stride = 0;  ///< elements between the starts of two rows, >= cols

  Mat() = default;
  Mat(T* data_, std::int64_t rows_, std::int64_t cols_) : Mat(data_, rows_, cols_, cols_) {}
  Mat(T* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t stride_)
      : data(data_), rows(rows_), cols(cols_), stride(stride_) {}

  /// A mutable view reads as a const one.
  operator Mat<const T>() const { return {data, rows, cols, stride}; }

  [[nodiscard]] T* row(std::int64_t r) const { return data + r * stride; }
  [[nodiscard]] Mat slice_rows(std::int64_t begin, std::int64_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  [[nodiscard]] Mat slice_cols(std::int64_t begin, std::int64_t count) const {
    return {data + begin, rows, count, stride};
  }
};

using View = Mat<float>;  ///< activations are float32 between operations
using ConstView = Mat<const float>;

}  // namespace sightline
