// One safetensors file: header with every bound checked, bytes mapped when first wanted. Used for
// checkpoints, reference cases and trace files alike. Format:
// https://github.com/huggingface/safetensors (README, "Format"); like the reference implementation,
// a file whose tensors overlap, leave holes or do not end with the file is refused. A
// SafetensorsFile is immutable to its users; tensor() may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mmap.hpp"
#include "sightline/tensor.hpp"

namespace sightline::io {

/// The limit that the reference implementation puts on a header (its MAX_HEADER_SIZE).
inline constexpr std::int64_t kMaxSafetensorsHeader = 100'000'000;

/// The format's spelling of an element type, e.g. "BF16".
std::string_view dtype_name(DType dtype) noexcept;
/// The element type with this spelling; nothing if this version does not know it.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;
/// "[160, 1, 4]": a shape as messages show it.
std::string shape_text(const Shape& shape);

/// One tensor as stored. `data` may be unaligned.
struct StoredTensor {
  std::string_view name;
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::string_view file;  ///< shard, for messages
  bool mapped = false;    ///< the bytes are pages of the file
};

/// One entry of a header.
struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t begin = 0;  ///< bytes from the start of the file
  std::int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  ///< in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Parses the first bytes of a file (at least the length and the header) of `file_bytes` bytes in
/// all. `file` is the name for messages. Throws Error(invalid_safetensors), or Error(tensor_dtype)
/// for an element type it does not know.
SafetensorsHeader parse_safetensors(std::string_view start, std::int64_t file_bytes,
                                    const std::string& file);

class SafetensorsFile {
 public:
  /// Reads and checks the header. The bytes are mapped (or, without `use_mmap`, read) at the first
  /// call of tensor(). Throws Error(file_not_found, file_unreadable, invalid_safetensors,
  /// tensor_dtype).
  explicit SafetensorsFile(const std::string& path, bool use_mmap = true);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// In the order of their bytes.
  [[nodiscard]] const std::vector<TensorEntry>& entries() const { return header_.tensors; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return header_.metadata;
  }

  /// The tensor with this name, its bytes in reach; nothing if there is none.
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const;
  /// The tensor of one of entries().
  [[nodiscard]] StoredTensor tensor(const TensorEntry& entry) const;

 private:
  std::string path_, name_;
  bool use_mmap_;
  std::int64_t bytes_ = 0;
  SafetensorsHeader header_;
  std::vector<std::size_t> by_name_;  ///< indices of header_.tensors, names ascending
  mutable std::mutex mutex_;
  mutable std::optional<FileBytes> content_;
};

/// The elements of a float tensor (F32, BF16 or F16), widened exactly to float32. Throws
/// Error(tensor_dtype).
std::vector<float> to_floats(const StoredTensor& tensor);

}  // namespace sightline::io
