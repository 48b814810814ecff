// Reading safetensors (safetensors.hpp): the header's checks, and the file's bytes.
#include "io/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

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
  Json root;
  try {
    root = parse_json(text, file + " (header)");
  } catch (const Error& error) {
    throw Error(Code::invalid_safetensors, error.what(), {{"file", file}});
  }
  const std::int64_t data_begin = kLengthBytes + length;
  return HeaderParser(file, data_begin, file_bytes - data_begin).parse(root);
}

// The bytes of a whole file, mapped or read.
class SafetensorsFile::Content {
 public:
  Content(const std::string& path, std::int64_t expected, bool use_mmap)
      : mapped_(use_mmap), bytes_(expected) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path);
    if (mapped_) {
      void* address =
          ::mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ, MAP_PRIVATE, file, 0);
      ::close(file);
      if (address == MAP_FAILED) fail(path);
      data_ = static_cast<const std::byte*>(address);
      return;
    }
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes_));
    data_ = buffer_.get();
    std::int64_t done = 0;
    while (done < bytes_) {
      const ssize_t got =
          ::read(file, buffer_.get() + done, static_cast<std::size_t>(bytes_ - done));
      if (got <= 0) break;
      done += got;
    }
    ::close(file);
    if (done < bytes_) fail(path);
  }
  ~Content() {
    if (mapped_) ::munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(bytes_));
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), static_cast<std::size_t>(bytes_)};
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw Error(Code::file_unreadable,
                fmt::format("{}: cannot be read: {}", path, std::strerror(errno)),
                {{"file", path}});
  }
  bool mapped_;
  std::int64_t bytes_;
  const std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;
};

SafetensorsFile::SafetensorsFile(const std::string& path, bool use_mmap)
    : path_(path), name_(std::filesystem::path(path).filename().string()), use_mmap_(use_mmap) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) {
    throw Error(Code::file_not_found, fmt::format("{}: no such file", path), {{"file", path}});
  }
  bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path, failure));
  if (failure) {
    throw Error(Code::file_unreadable,
                fmt::format("{}: cannot be read: {}", path, failure.message()), {{"file", path}});
  }
  if (bytes_ < kLengthBytes) parse_safetensors({}, bytes_, path);  // throws
  header_ = parse_safetensors(Content(path, bytes_, true).text(), bytes_, path);
  by_name_.resize(header_.tensors.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [this](std::size_t a, std::size_t b) {
    return header_.tensors[a].name < header_.tensors[b].name;
  });
}

SafetensorsFile::~SafetensorsFile() = default;

std::optional<StoredTensor> SafetensorsFile::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](std::size_t i, std::string_view key) { return header_.tensors[i].name < key; });
  if (at == by_name_.end() || header_.tensors[*at].name != name) return std::nullopt;
  return tensor(header_.tensors[*at]);
}

StoredTensor SafetensorsFile::tensor(const TensorEntry& entry) const {
  const std::lock_guard lock(mutex_);
  if (!content_) content_ = std::make_unique<const Content>(path_, bytes_, use_mmap_);
  return {entry.name, entry.dtype, entry.shape, content_->data() + entry.begin, entry.bytes, name_};
}

namespace {

float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t exponent = half >> 10 & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // subnormal
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

std::vector<float> to_floats(const StoredTensor& tensor) {
  const std::int64_t size = dtype_size(tensor.dtype);
  std::vector<float> values(static_cast<std::size_t>(tensor.bytes / size));
  const auto half_at = [&](std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.data + i * sizeof bits, sizeof bits);
    return bits;
  };
  switch (tensor.dtype) {
    case DType::f32:
      if (!values.empty()) std::memcpy(values.data(), tensor.data, values.size() * sizeof(float));
      return values;
    case DType::bf16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::bit_cast<float>(std::uint32_t{half_at(i)} << 16);
      }
      return values;
    case DType::f16:
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = widen_f16(half_at(i));
      return values;
    default:
      break;
  }
  throw Error(Code::tensor_dtype,
              fmt::format("{}: tensor {}: expected F32, BF16 or F16, found {}", tensor.file,
                          tensor.name, dtype_name(tensor.dtype)),
              {{"file", std::string(tensor.file)}, {"tensor", std::string(tensor.name)}});
}

}  // namespace sightline::io
