// Where recorded tensors go: into memory up to a limit, or to a safetensors file of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "trace/recorder.hpp"

namespace sightline::trace {

/// The elements of a tensor without the gaps between its rows.
std::vector<std::byte> pack(const TensorRef& tensor);

/// Keeps tensors in memory, in call order.
class MemorySink final : public TensorSink {
 public:
  /// Refuses to hold more than this.
  explicit MemorySink(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Throws Error(memory_limit) beyond the limit.
  void put(const std::string& key, const TensorRef& tensor) override;

  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  /// The i-th recorded tensor, or the one with this key (nothing if there is none); valid while the
  /// sink lives.
  [[nodiscard]] io::StoredTensor at(std::size_t i) const;
  [[nodiscard]] std::optional<io::StoredTensor> find(std::string_view key) const;

 private:
  struct Kept {
    std::string key;
    DType dtype = DType::f32;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::int64_t max_bytes_, bytes_ = 0;
  std::deque<Kept> tensors_;
};

/// Streams tensors to a trace file; memory does not grow with their number or size. The file
/// appears with finish().
class FileSink final : public TensorSink {
 public:
  /// Throws Error(file_unwritable).
  explicit FileSink(const std::string& path) : writer_(path) {}
  void metadata(const std::string& key, const std::string& value) { writer_.metadata(key, value); }
  void put(const std::string& key, const TensorRef& tensor) override { writer_.add(key, tensor); }
  void finish() { writer_.finish(); }
  [[nodiscard]] std::int64_t tensors() const { return writer_.tensors(); }
  [[nodiscard]] std::int64_t bytes() const { return writer_.bytes(); }

 private:
  io::SafetensorsWriter writer_;
};

}  // namespace sightline::trace
