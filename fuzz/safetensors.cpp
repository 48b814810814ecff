// The header of a safetensors file: any bytes are either a header whose tensors lie exactly within
// the file, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/safetensors.hpp"
#include "sightline/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const io::SafetensorsHeader header =
        io::parse_safetensors(bytes, static_cast<std::int64_t>(size), "fuzz");
    for (const io::TensorEntry& tensor : header.tensors) {
      const std::int64_t end = tensor.begin + tensor.bytes;
      if (tensor.begin < 0 || tensor.bytes < 0 || end > static_cast<std::int64_t>(size))
        std::abort();
      if (tensor.shape.elements() * dtype_size(tensor.dtype) != tensor.bytes) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}
