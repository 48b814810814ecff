// The state of one sequence: keys and values of full-attention layers, convolution and recurrent
// state of linear ones. A copy is a snapshot: full key/value blocks are shared between copies, only
// the open block, convolution and recurrent state are copied. There is no truncate: a recurrent
// state can not go back; keep a copy made at the wanted position. Not thread-safe; copies may live
// in different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/mat.hpp"
#include "kernels/attention.hpp"
#include "sightline/tensor.hpp"

namespace sightline::model {

/// Keys and values in blocks of 64 absolute positions. Full blocks are immutable once written; an
/// open block that is shared is copied before it is written.
class KvLayer {
 public:
  KvLayer(std::int64_t kv_heads, std::int64_t head_dim, DType dtype)
      : kv_heads_(kv_heads), head_dim_(head_dim), dtype_(dtype) {}

  /// Adds rows of keys and values (rows, kv_heads · head_dim), rounding to the cache's type.
  void append(const kernels::Compute& compute, ConstView keys, ConstView values);

  /// The stored blocks for kernels::attention; valid until the next append.
  [[nodiscard]] kernels::KvBlocks blocks() const;
  [[nodiscard]] std::int64_t length() const { return length_; }
  /// Floats of a row of keys or values.
  [[nodiscard]] std::int64_t width() const { return kv_heads_ * head_dim_; }
  [[nodiscard]] std::int64_t bytes() const;

 private:
  void make_writable(std::size_t block);

  std::int64_t kv_heads_, head_dim_;
  DType dtype_;
  std::int64_t length_ = 0;
  std::vector<std::shared_ptr<std::byte[]>>
      storage_;                            // one allocation per block: keys, then values
  std::vector<std::byte*> keys_, values_;  // into storage_
};

/// Convolution and recurrent state of a Gated DeltaNet layer, float32 always, zero at first. The
/// memory is taken by prepare(), before the first row.
struct DeltaLayer {
  std::int64_t conv_values = 0, recurrent_values = 0;
  std::vector<float> conv;       ///< (width − 1, C): last inputs of the convolution, oldest first
  std::vector<float> recurrent;  ///< [Hv][Dk][Dv]

  void prepare() {
    conv.resize(static_cast<std::size_t>(conv_values));
    recurrent.resize(static_cast<std::size_t>(recurrent_values));
  }
  [[nodiscard]] std::int64_t bytes() const {
    return (conv_values + recurrent_values) * dtype_size(DType::f32);
  }
};

struct Cache {
  std::vector<std::variant<KvLayer, DeltaLayer>> layers;
  std::int64_t length = 0;  ///< tokens seen
  std::int64_t rope_delta =
      0;  ///< position of the next token = length + rope_delta (specification 6.2)

  [[nodiscard]] std::int64_t bytes() const;
};

}  // namespace sightline::model
