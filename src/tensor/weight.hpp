// Weight: a matrix [out, in] of a checkpoint, used where it is stored (memory map), in the type it
// is stored in; or packed codes (packed_weight.hpp). It borrows the bytes; the checkpoint that maps
// them must outlive it. Immutable, shared by all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sightline/tensor.hpp"
#include "tensor/packed_weight.hpp"

namespace sightline {

struct Weight {
  DType dtype = DType::f32;  ///< f32, bf16 or f16; says nothing about a packed weight
  std::int64_t out = 0, in = 0;
  const std::byte* data =
      nullptr;  ///< row-major [out, in]; any alignment: tensors may start at any byte

  /// Codes instead of `data`, which is null then.
  std::shared_ptr<const PackedWeight> packed = nullptr;

  /// Of a weight that is not packed.
  [[nodiscard]] const std::byte* row(std::int64_t o) const {
    return data + o * in * dtype_size(dtype);
  }
  [[nodiscard]] std::int64_t bytes() const {
    return packed ? packed->bytes() : out * in * dtype_size(dtype);
  }
  /// Bytes that reading one row takes.
  [[nodiscard]] std::int64_t row_bytes() const { return out == 0 ? 0 : bytes() / out; }
};

}  // namespace sightline
