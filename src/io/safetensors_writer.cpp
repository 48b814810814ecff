// Staging, header, assembly (safetensors_writer.hpp).
#include "io/safetensors_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mmap.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace {

constexpr std::int64_t kCopyBytes = 4 << 20;  // one piece of the assembly
constexpr std::size_t kAlignment = 8;  // data begin here, as in files of the reference writer

std::string_view as_text(const std::byte* data, std::int64_t bytes) {
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes)};
}

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes;
}

/// A tensor's member of the header.
Json entry_json(DType dtype, const Shape& shape, std::int64_t begin) {
  Json dims = Json::array();
  for (int i = 0; i < shape.rank(); ++i) dims.push(shape[i]);
  Json entry = Json::object();
  entry.add("dtype", dtype_name(dtype));
  entry.add("shape", std::move(dims));
  entry.add("data_offsets", Json::Array{begin, begin + shape.elements() * dtype_size(dtype)});
  return entry;
}

std::string start_of(const Json& header) {
  std::string text = to_json_text(header);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return length_bytes(text.size()) + text;
}

}  // namespace

std::string safetensors_start(const std::vector<TensorEntry>& tensors) {
  Json header = Json::object();
  std::int64_t begin = 0;
  for (const TensorEntry& tensor : tensors) {
    header.add(tensor.name, entry_json(tensor.dtype, tensor.shape, begin));
    begin += tensor.shape.elements() * dtype_size(tensor.dtype);
  }
  return start_of(header);
}

SafetensorsWriter::SafetensorsWriter(const std::string& path) : path_(path), data_(path) {}

void SafetensorsWriter::metadata(const std::string& key, const std::string& value) {
  metadata_.add(key, value);
}

void SafetensorsWriter::add(const std::string& name, const TensorRef& tensor) {
  if (!names_.insert(name).second) {
    throw Error(Code::internal, fmt::format("{}: tensor {} is written twice", path_, name),
                {{"file", path_}, {"tensor", name}});
  }
  const std::int64_t size = dtype_size(tensor.dtype);
  const std::int64_t cols = tensor.shape.back(), total = tensor.shape.elements();
  if (cols > 0 && tensor.row_stride != cols) {
    for (std::int64_t row = 0; row < total / cols; ++row) {
      data_.append(as_text(tensor.data + row * tensor.row_stride * size, cols * size));
    }
  } else {
    data_.append(as_text(tensor.data, total * size));
  }
  entries_.add(name, entry_json(tensor.dtype, tensor.shape, bytes_));
  bytes_ += total * size;
}

void SafetensorsWriter::finish() {
  Json header = Json::object();
  if (!metadata_.as_object().empty()) header.add("__metadata__", std::move(metadata_));
  for (auto& [name, entry] : entries_.as_object()) header.add(name, std::move(entry));

  StagedFile file(path_);
  file.append(start_of(header));
  for (std::int64_t done = 0; done < bytes_; done += kCopyBytes) {
    const auto piece =
        FileBytes::read(data_.temporary(), done, std::min(kCopyBytes, bytes_ - done));
    file.append(as_text(piece.bytes().data(), static_cast<std::int64_t>(piece.bytes().size())));
  }
  file.commit();
}

}  // namespace sightline::io
