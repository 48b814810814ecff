// Every value of a checkpoint, looked at as stored: no tensor is widened (checkpoint_report.hpp).
#include <fmt/format.h>

#include <cstring>

#include "audit/checkpoint_report.hpp"

namespace sightline::audit {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // values between two calls of the progress

/// What one run of values holds: how many are no finite numbers, and the union of their bits less
/// the sign (0: all are zero).
struct Scan {
  std::int64_t non_finite = 0;
  std::uint32_t bits = 0;
};

/// Values of `Word` bits, non-finite if all bits of `exponent` are set.
template <class Word>
Scan scan(const std::byte* data, std::int64_t count, Word exponent) {
  constexpr auto kMagnitude = static_cast<Word>(static_cast<Word>(~Word{0}) >> 1U);
  std::uint32_t bits = 0;
  std::int64_t non_finite = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Word word = 0;
    std::memcpy(&word, data + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
    bits |= word & kMagnitude;
    non_finite += (word & exponent) == exponent ? 1 : 0;
  }
  return {non_finite, bits};
}

/// Of 8-bit floats only all bits but the sign set is no number.
Scan scan_f8(const std::byte* data, std::int64_t count) {
  constexpr unsigned kMagnitude = 0x7F;
  Scan found;
  for (std::int64_t i = 0; i < count; ++i) {
    const unsigned magnitude = static_cast<unsigned>(data[i]) & kMagnitude;
    found.bits |= magnitude;
    found.non_finite += magnitude == kMagnitude ? 1 : 0;
  }
  return found;
}

Scan scan(DType dtype, const std::byte* data, std::int64_t count) {
  if (dtype == DType::f8_e4m3) return scan_f8(data, count);
  constexpr std::uint16_t kBf16Exponent = 0x7F80, kF16Exponent = 0x7C00;
  constexpr std::uint32_t kF32Exponent = 0x7F800000;
  if (dtype == DType::bf16) return scan<std::uint16_t>(data, count, kBf16Exponent);
  if (dtype == DType::f16) return scan<std::uint16_t>(data, count, kF16Exponent);
  return scan<std::uint32_t>(data, count, kF32Exponent);
}

void check_tensor(const io::StoredTensor& tensor, const std::function<void(std::int64_t)>& read,
                  std::vector<Finding>& findings) {
  const std::int64_t width = tensor.shape.back(), size = dtype_size(tensor.dtype);
  const std::int64_t rows = width == 0 ? 0 : tensor.shape.elements() / width;
  std::int64_t non_finite = 0, zero_rows = 0, unreported = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Scan found = scan(tensor.dtype, tensor.data + row * width * size, width);
    non_finite += found.non_finite;
    zero_rows += found.bits == 0 ? 1 : 0;
    unreported += width;
    if (unreported >= kBlock || row + 1 == rows) {
      read(unreported * size);
      unreported = 0;
    }
  }
  const std::string name(tensor.name), file(tensor.file);
  if (non_finite > 0) {
    findings.push_back({Finding::Kind::non_finite, name, file, non_finite,
                        fmt::format("{} of {} values are not finite", non_finite, rows * width)});
  }
  if (tensor.shape.rank() > 1 && zero_rows > 0) {
    findings.push_back({Finding::Kind::zero_rows, name, file, zero_rows,
                        fmt::format("{} of {} rows are all zero", zero_rows, rows)});
  }
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 ||
         dtype == DType::f8_e4m3;
}

}  // namespace

std::vector<Finding> check_values(const io::Checkpoint& stored, const BytesRead& progress) {
  std::int64_t all = 0, done = 0;
  for (const std::string_view name : stored.names()) all += stored.find(name)->bytes;
  std::vector<Finding> findings;
  for (const std::string_view name : stored.names()) {
    const io::StoredTensor tensor = *stored.find(name);
    if (!is_float(tensor.dtype)) continue;
    check_tensor(
        tensor,
        [&](std::int64_t bytes) {
          done += bytes;
          progress(done, all);
        },
        findings);
  }
  return findings;
}

}  // namespace sightline::audit
