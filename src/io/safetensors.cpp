// Reading safetensors (safetensors.hpp): the header's checks, and the file's bytes.
#include "io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/bf16.hpp"
#include "io/json.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace {

constexpr std::int64_t kLengthBytes = 8;  // the file begins with the header's length

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array kDTypeNames{
    DTypeName{DType::boolean, "BOOL"},    DTypeName{DType::u8, "U8"},
    DTypeName{DType::i8, "I8"},           DTypeName{DType::f8_e5m2, "F8_E5M2"},
    DTypeName{DType::f8_e4m3, "F8_E4M3"}, DTypeName{DType::i16, "I16"},
    DTypeName{DType::u16, "U16"},         DTypeName{DType::f16, "F16"},
    DTypeName{DType::bf16, "BF16"},       DTypeName{DType::i32, "I32"},
    DTypeName{DType::u32, "U32"},         DTypeName{DType::f32, "F32"},
    DTypeName{DType::f64, "F64"},         DTypeName{DType::i64, "I64"},
    DTypeName{DType::u64, "U64"},
};

[[noreturn]] void fail_file(const std::string& file, const std::string& expected,
                            const std::string& found) {
  throw Error(
      Code::invalid_safetensors,
      fmt::format("{}: not a valid safetensors file: expected {}, found {}", file, expected, found),
      {{"file", file}, {"expected", expected}, {"found", found}});
}

// Reads the entries of one header; holds what every message needs.
class HeaderParser {
 public:
  HeaderParser(const std::string& file, std::int64_t data_begin, std::int64_t data_bytes)
      : file_(file), data_begin_(data_begin), data_bytes_(data_bytes) {}

  SafetensorsHeader parse(const Json& root) {
    if (!root.is_object()) fail_file(file_, "an object as the header", root.type_name());
    SafetensorsHeader header;
    for (const auto& [name, value] : root.as_object()) {
      if (name == "__metadata__") {
        header.metadata = metadata(value);
      } else {
        header.tensors.push_back(entry(name, value));
      }
    }
    check_layout(header.tensors);
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& tensor, const std::string& expected,
                         const std::string& found) const {
    throw Error(Code::invalid_safetensors,
                fmt::format("{}: tensor {}: expected {}, found {}", file_, tensor, expected, found),
                {{"file", file_}, {"tensor", tensor}, {"expected", expected}, {"found", found}});
  }

  std::vector<std::pair<std::string, std::string>> metadata(const Json& value) const {
    if (!value.is_object())
      fail_file(file_, "an object of strings at __metadata__", value.type_name());
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& [key, text] : value.as_object()) {
      if (!text.is_string()) {
        fail_file(file_, fmt::format("a string at __metadata__.{}", key), text.type_name());
      }
      pairs.emplace_back(key, text.as_string());
    }
    return pairs;
  }

  TensorEntry entry(const std::string& name, const Json& value) const {
    if (!value.is_object())
      fail(name, "an object with dtype, shape and data_offsets", value.type_name());
    TensorEntry entry;
    entry.name = name;
    entry.dtype = dtype(name, value.find("dtype"));
    entry.shape = shape(name, value.find("shape"));
    const Json* offsets = value.find("data_offsets");
    if (offsets == nullptr || !offsets->is_array() || offsets->as_array().size() != 2) {
      fail(name, "data_offsets of two integers",
           offsets == nullptr ? "none" : to_json_text(*offsets));
    }
    const std::int64_t begin = non_negative(name, "data_offsets", offsets->as_array()[0]);
    const std::int64_t end = non_negative(name, "data_offsets", offsets->as_array()[1]);
    if (begin > end || end > data_bytes_) {
      fail(name, fmt::format("data_offsets within the {} bytes of data", data_bytes_),
           fmt::format("[{}, {}]", begin, end));
    }
    entry.begin = data_begin_ + begin;
    entry.bytes = end - begin;
    check_size(entry);
    return entry;
  }

  DType dtype(const std::string& name, const Json* value) const {
    if (value == nullptr || !value->is_string()) {
      fail(name, "a dtype string", value == nullptr ? "none" : value->type_name());
    }
    const std::optional<DType> known = dtype_from_name(value->as_string());
    if (!known) {
      throw Error(Code::tensor_dtype,
                  fmt::format("{}: tensor {}: expected an element type of safetensors such as F32, "
                              "BF16 or F16, found {}",
                              file_, name, to_json_text(*value)),
                  {{"file", file_}, {"tensor", name}, {"found", value->as_string()}});
    }
    return *known;
  }

  Shape shape(const std::string& name, const Json* value) const {
    if (value == nullptr || !value->is_array()) {
      fail(name, "a shape array", value == nullptr ? "none" : value->type_name());
    }
    const Json::Array& dims = value->as_array();
    if (dims.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
      fail(name, fmt::format("at most {} dimensions", Shape::kMaxRank),
           fmt::format("{}", dims.size()));
    }
    Shape shape;
    for (const Json& dim : dims) shape.push(non_negative(name, "shape", dim));
    return shape;
  }

  std::int64_t non_negative(const std::string& name, const char* what, const Json& value) const {
    if (!value.is_int() || value.as_int() < 0) {
      fail(name, fmt::format("a non-negative integer in {}", what), to_json_text(value));
    }
    return value.as_int();
  }

  void check_size(const TensorEntry& entry) const {
    std::int64_t bytes = dtype_size(entry.dtype);
    for (int i = 0; i < entry.shape.rank(); ++i) {
      if (__builtin_mul_overflow(bytes, entry.shape[i], &bytes)) {
        fail(entry.name, "a size that fits 63 bits", "shape " + shape_text(entry.shape));
      }
    }
    if (bytes != entry.bytes) {
      fail(entry.name,
           fmt::format("{} bytes for {} {}", bytes, dtype_name(entry.dtype),
                       shape_text(entry.shape)),
           fmt::format("data_offsets of {} bytes", entry.bytes));
    }
  }

  // Puts the tensors in the order of their bytes, which must follow each other from the first to
  // the last byte of data.
  void check_layout(std::vector<TensorEntry>& tensors) const {
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const TensorEntry& a, const TensorEntry& b) {
                       return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
                     });
    std::int64_t next = data_begin_;
    for (const TensorEntry& tensor : tensors) {
      if (tensor.begin != next) {
        const char* fault =
            tensor.begin < next ? "it overlaps the tensor before" : "it leaves a hole";
        fail(tensor.name, fmt::format("data beginning at {}", next - data_begin_),
             fmt::format("{} ({})", tensor.begin - data_begin_, fault));
      }
      next += tensor.bytes;
    }
    const std::int64_t used = next - data_begin_;
    if (used != data_bytes_) {
      fail_file(file_, fmt::format("{} bytes of data, as its tensors say", used),
                fmt::format("{}", data_bytes_));
    }
  }

  const std::string& file_;
  std::int64_t data_begin_, data_bytes_;
};

std::uint64_t little_endian_64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace

std::string_view dtype_name(DType dtype) noexcept {
  for (const DTypeName& known : kDTypeNames) {
    if (known.dtype == dtype) return known.name;
  }
  return "?";
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const DTypeName& known : kDTypeNames) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

SafetensorsHeader parse_safetensors(std::string_view start, std::int64_t file_bytes,
                                    const std::string& file) {
  if (file_bytes < kLengthBytes) {
    fail_file(file, "at least 8 bytes, the length of the header", fmt::format("{}", file_bytes));
  }
  const std::uint64_t declared = little_endian_64(start.substr(0, kLengthBytes));
  if (declared > static_cast<std::uint64_t>(kMaxSafetensorsHeader)) {
    fail_file(file, fmt::format("a header of at most {} bytes", kMaxSafetensorsHeader),
              fmt::format("{}", declared));
  }
  const auto length = static_cast<std::int64_t>(declared);
  if (length > file_bytes - kLengthBytes) {
    fail_file(
        file, fmt::format("a header of {} bytes", length),
        fmt::format("{} bytes after its length: the file is cut off", file_bytes - kLengthBytes));
  }
  const std::string_view text = start.substr(kLengthBytes, static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{')
    fail_file(file, "a header beginning with {", "another byte");
  const Json root = parse_json(text, file + " (header)", Code::invalid_safetensors);
  const std::int64_t data_begin = kLengthBytes + length;
  return HeaderParser(file, data_begin, file_bytes - data_begin).parse(root);
}

SafetensorsFile::SafetensorsFile(const std::string& path, bool use_mmap)
    : path_(path), name_(std::filesystem::path(path).filename().string()), use_mmap_(use_mmap) {
  const FileBytes whole = FileBytes::map(path);  // touches no page but the header's
  bytes_ = static_cast<std::int64_t>(whole.bytes().size());
  header_ = parse_safetensors(
      {reinterpret_cast<const char*>(whole.bytes().data()), whole.bytes().size()}, bytes_, path);
  by_name_.resize(header_.tensors.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [this](std::size_t a, std::size_t b) {
    return header_.tensors[a].name < header_.tensors[b].name;
  });
}

std::optional<StoredTensor> SafetensorsFile::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](std::size_t i, std::string_view key) { return header_.tensors[i].name < key; });
  if (at == by_name_.end() || header_.tensors[*at].name != name) return std::nullopt;
  return tensor(header_.tensors[*at]);
}

StoredTensor SafetensorsFile::tensor(const TensorEntry& entry) const {
  const std::lock_guard lock(mutex_);
  if (!content_) {
    content_ = use_mmap_ ? FileBytes::map(path_, 0, bytes_) : FileBytes::read(path_, 0, bytes_);
  }
  return {entry.name,  entry.dtype, entry.shape, content_->bytes().data() + entry.begin,
          entry.bytes, name_,       use_mmap_};
}

namespace {

template <class Half>
void widen_all(const std::byte* data, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Half half;
    std::memcpy(&half, data + i * sizeof half, sizeof half);
    values[i] = widen(half);
  }
}

}  // namespace

std::vector<float> to_floats(const StoredTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.bytes / dtype_size(tensor.dtype));
  std::vector<float> values(count);
  if (tensor.dtype == DType::f32) {
    if (count > 0) std::memcpy(values.data(), tensor.data, count * sizeof(float));
  } else if (tensor.dtype == DType::bf16) {
    widen_all<bf16>(tensor.data, values);
  } else if (tensor.dtype == DType::f16) {
    widen_all<f16>(tensor.data, values);
  } else {
    throw Error(Code::tensor_dtype,
                fmt::format("{}: tensor {}: expected F32, BF16 or F16, found {}", tensor.file,
                            tensor.name, dtype_name(tensor.dtype)),
                {{"file", std::string(tensor.file)}, {"tensor", std::string(tensor.name)}});
  }
  return values;
}

}  // namespace sightline::io
