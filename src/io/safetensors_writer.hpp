// Writes a safetensors file of any size in bounded memory: the bytes are staged in a temporary file
// as they come, the header is put before them at the end. The file appears whole or not at all. For
// one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/json.hpp"
#include "io/safetensors.hpp"
#include "io/staged_file.hpp"
#include "sightline/tensor.hpp"

namespace sightline::io {

/// The bytes of a safetensors file before its data: length and header, padded so that the data
/// begin at a multiple of 8. The tensors' bytes follow in this order, without gaps; begin and bytes
/// of the entries are not read.
std::string safetensors_start(const std::vector<TensorEntry>& tensors);

class SafetensorsWriter {
 public:
  /// Stages beside `path`. Throws Error(file_unwritable).
  explicit SafetensorsWriter(const std::string& path);

  /// Adds a line to the file's free text, `__metadata__`. The caller guarantees that the key is
  /// new.
  void metadata(const std::string& key, const std::string& value);
  /// Appends a tensor under `name`; rows that lie apart are packed. Tensors keep the order in which
  /// they are added. Throws Error(internal) for a name that is already there,
  /// Error(file_unwritable).
  void add(const std::string& name, const TensorRef& tensor);
  /// Writes the file. Nothing may be added afterwards. Throws Error(file_unwritable).
  void finish();

  [[nodiscard]] std::int64_t tensors() const { return static_cast<std::int64_t>(names_.size()); }
  /// Bytes of data so far.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  StagedFile data_;
  Json metadata_ = Json::object(), entries_ = Json::object();
  std::unordered_set<std::string> names_;
  std::int64_t bytes_ = 0;
};

}  // namespace sightline::io
