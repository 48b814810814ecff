// What is said about a stored tensor that is not as expected. For the readers of checkpoints.
#pragma once

#include <string>
#include <string_view>

#include "io/safetensors.hpp"

namespace sightline::io {

/// True for the element types that weights, norms and scales can have.
constexpr bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

/// Throws Error(tensor_shape): "FILE: tensor NAME: expected shape EXPECTED by BY, found [..]".
[[noreturn]] void fail_shape(const StoredTensor& stored, const std::string& expected,
                             const std::string& by = "the configuration");

/// Throws Error(tensor_dtype): "FILE: tensor NAME: expected EXPECTED by BY, found BF16".
[[noreturn]] void fail_dtype(const StoredTensor& stored, std::string_view expected,
                             const std::string& by);

}  // namespace sightline::io
