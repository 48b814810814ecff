// One loop per element type (elements.hpp).
#include "trace/elements.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "base/bf16.hpp"
#include "io/safetensors.hpp"
#include "sightline/error.hpp"

namespace sightline::trace {
namespace {

template <class T>
double widened(T value) {
  if constexpr (requires { widen(value); }) {
    return widen(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
void convert(const std::byte* data, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    values[i] = widened(value);
  }
}

}  // namespace

void to_doubles(DType dtype, const std::byte* data, std::span<double> values) {
  switch (dtype) {
    case DType::f32:
      return convert<float>(data, values);
    case DType::bf16:
      return convert<bf16>(data, values);
    case DType::f16:
      return convert<f16>(data, values);
    case DType::f64:
      return convert<double>(data, values);
    case DType::i64:
      return convert<std::int64_t>(data, values);
    case DType::u64:
      return convert<std::uint64_t>(data, values);
    case DType::i32:
      return convert<std::int32_t>(data, values);
    case DType::u32:
      return convert<std::uint32_t>(data, values);
    case DType::i16:
      return convert<std::int16_t>(data, values);
    case DType::u16:
      return convert<std::uint16_t>(data, values);
    case DType::i8:
      return convert<std::int8_t>(data, values);
    case DType::boolean:
    case DType::u8:
      return convert<std::uint8_t>(data, values);
    case DType::f8_e5m2:
    case DType::f8_e4m3:
      break;
  }
  throw Error(Code::tensor_dtype,
              fmt::format("expected elements of 16 bits or more, or integers, found {}",
                          io::dtype_name(dtype)));
}

}  // namespace sightline::trace
