// Weight: a matrix [out, in] of a checkpoint, used where it is stored (memory map), in the type it
// is stored in. It borrows the bytes; the checkpoint that maps them must outlive it. Immutable,
// shared by all threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sightline/tensor.hpp"

namespace sightline {

struct Weight {
  DType dtype = DType::f32;  ///< f32, bf16 or f16
  std::int64_t out = 0, in = 0;
  const std::byte* data =
      nullptr;  ///< row-major [out, in]; any alignment: tensors may start at any byte

  [[nodiscard]] const std::byte* row(std::int64_t o) const {
    return data + o * in * dtype_size(dtype);
  }
  [[nodiscard]] std::int64_t bytes() const { return out * in * dtype_size(dtype); }
};

}  // namespace sightline
