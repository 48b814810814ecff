// A packed weight of random codes for the kernel tests, with the values that its elements have by
// definition.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/bytes.hpp"
#include "kernels/matmul.hpp"
#include "kernels/table.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {

struct Layout {
  PackedCode code;
  std::int64_t out, in;
  std::int64_t group_rows, group_cols;
  bool zeros;
  DType scales;
};

inline std::string name_of(const Layout& l) {
  return std::string(code_name(l.code)) + " " + std::to_string(l.out) + "x" + std::to_string(l.in) +
         " groups " + std::to_string(l.group_rows) + "x" + std::to_string(l.group_cols);
}

/// Random codes, scales and zero points; what follows the last byte must not matter.
struct Made {
  std::shared_ptr<PackedWeight> packed = std::make_shared<PackedWeight>();
  std::vector<float> values;  ///< what they stand for, by the definition

  explicit Made(const Layout& l, unsigned seed = 3) {
    std::mt19937 engine(seed);
    PackedWeight& w = *packed;
    w.code = l.code;
    w.out = l.out;
    w.in = l.in;
    w.group_rows = l.group_rows;
    w.group_cols = l.group_cols;
    w.groups = (l.in + l.group_cols - 1) / l.group_cols;
    w.row_bytes = packed_row_bytes(l.code, l.in);
    w.owned_codes.resize(static_cast<std::size_t>(l.out * w.row_bytes));
    for (std::byte& b : w.owned_codes) {
      b = static_cast<std::byte>(engine());
      if (l.code == PackedCode::f8_e4m3 && (b & std::byte{0x7f}) == std::byte{0x7f})
        b = std::byte{0x31};  // no NaN
    }
    w.codes = w.owned_codes.data();
    w.scale_dtype = l.scales;
    const auto scales = random_values(w.scale_count(), seed + 1, 0.01F);
    for (const float scale : scales) put_scale(scale);
    w.scales = w.owned_scales.data();
    w.zero = l.code == PackedCode::u4 ? 8 : l.code == PackedCode::u8 ? 128 : 0;
    for (std::int64_t i = 0; l.zeros && i < w.scale_count(); ++i) {
      w.owned_zeros.push_back(
          static_cast<std::uint8_t>(engine() & (l.code == PackedCode::u4 ? 15U : 255U)));
    }
    w.zeros = l.zeros ? w.owned_zeros.data() : nullptr;
    for (std::int64_t o = 0; o < w.out; ++o) {
      for (std::int64_t k = 0; k < w.in; ++k) values.push_back(value(o, k));
    }
  }

  void put_scale(float scale) {
    PackedWeight& w = *packed;
    std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
    if (w.scale_dtype == DType::bf16) bits = to_bf16(scale).bits;
    if (w.scale_dtype == DType::f16) bits = 0x2000U | (bits >> 20 & 0x3ffU);  // small and normal
    for (std::int64_t i = 0; i < dtype_size(w.scale_dtype); ++i)
      w.owned_scales.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }

  float value(std::int64_t o, std::int64_t k) const {
    const PackedWeight& w = *packed;
    const std::int64_t group = o / w.group_rows * w.groups + k / w.group_cols;
    const std::byte* row = w.codes + o * w.row_bytes;
    float code = 0;
    if (w.code == PackedCode::u4) {
      code = static_cast<float>(static_cast<unsigned>(row[k / 2]) >> (4 * (k % 2)) & 15U);
    } else if (w.code == PackedCode::i8) {
      code = static_cast<float>(static_cast<std::int8_t>(row[k]));
    } else if (w.code == PackedCode::u8) {
      code = static_cast<float>(static_cast<unsigned>(row[k]));
    } else {
      const auto bits = static_cast<unsigned>(row[k]);
      const int exponent = static_cast<int>(bits >> 3 & 15U);
      const auto fraction = static_cast<float>(bits & 7U) / 8.0F;
      code = exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1.0F + fraction, exponent - 7);
      if ((bits & 0x80U) != 0) code = -code;
    }
    return (code - static_cast<float>(w.zeros != nullptr ? w.zeros[group] : w.zero)) *
           w.scale(group);
  }

  [[nodiscard]] Weight weight() const {
    return {DType::f32, packed->out, packed->in, nullptr, packed};
  }
  [[nodiscard]] Weight wide() const {
    return {DType::f32, packed->out, packed->in, reinterpret_cast<const std::byte*>(values.data())};
  }
};

/// The plain set with activations of as many bits as `set` has for 8-bit codes.
inline Kernels definition_of(const Kernels& set) {
  Kernels plain = select("reference");
  if (set.bytes != nullptr) plain.bytes = &kPlainBytes;
  return plain;
}

/// x Wᵀ with a random bias.
inline std::vector<float> multiply(const Kernels& set, int threads, const std::vector<float>& x,
                                   std::int64_t rows, const Weight& weight) {
  Machine machine(set, threads);
  std::vector<float> y(static_cast<std::size_t>(rows * weight.out), 77.0F);
  const auto bias = random_values(weight.out, 8);
  matmul(machine.compute, ConstView(x.data(), rows, weight.in), weight, bias.data(),
         View(y.data(), rows, weight.out));
  return y;
}

}  // namespace sightline::kernels
