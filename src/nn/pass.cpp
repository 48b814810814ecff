// Views as named tensors, for the trace (pass.hpp).
#include "nn/pass.hpp"

namespace sightline::nn {

TensorRef tensor_ref(std::string_view name, ConstView x, bool batched, std::int64_t heads) {
  TensorRef tensor;
  tensor.name = name;
  if (batched) tensor.shape.push(1);
  tensor.shape.push(x.rows);
  if (heads > 0) tensor.shape.push(heads);
  tensor.shape.push(heads > 0 ? x.cols / heads : x.cols);
  tensor.data = reinterpret_cast<const std::byte*>(x.data);
  tensor.row_stride = heads > 0 ? x.cols / heads : x.stride;
  return tensor;
}

}  // namespace sightline::nn
