// Packing, and tensors in memory (sinks.hpp).
#include "trace/sinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sightline/error.hpp"

namespace sightline::trace {

std::vector<std::byte> pack(const TensorRef& tensor) {
  const std::int64_t size = dtype_size(tensor.dtype), cols = tensor.shape.back();
  const std::int64_t total = tensor.shape.elements();
  std::vector<std::byte> bytes(static_cast<std::size_t>(total * size));
  if (bytes.empty()) return bytes;
  const auto row_bytes = static_cast<std::size_t>(cols * size);
  for (std::int64_t row = 0; row < total / cols; ++row) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(row) * row_bytes,
                tensor.data + row * tensor.row_stride * size, row_bytes);
  }
  return bytes;
}

void MemorySink::put(const std::string& key, const TensorRef& tensor) {
  const std::int64_t bytes = tensor.shape.elements() * dtype_size(tensor.dtype);
  if (bytes > max_bytes_ - bytes_) {
    throw Error(
        Code::memory_limit,
        fmt::format("trace: {}: expected at most {} bytes in memory, found {} more after {}: "
                    "select fewer modules or record to a file",
                    key, max_bytes_, bytes, bytes_),
        {{"key", key}, {"limit", std::to_string(max_bytes_)}});
  }
  bytes_ += bytes;
  tensors_.push_back({key, tensor.dtype, tensor.shape, pack(tensor)});
}

io::StoredTensor MemorySink::at(std::size_t i) const {
  const Kept& kept = tensors_[i];
  return {kept.key,
          kept.dtype,
          kept.shape,
          kept.bytes.data(),
          static_cast<std::int64_t>(kept.bytes.size()),
          "memory"};
}

std::optional<io::StoredTensor> MemorySink::find(std::string_view key) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].key == key) return at(i);
  }
  return std::nullopt;
}

}  // namespace sightline::trace
