// Packs small matrices as the quantised formats do, bit by bit and apart from the code under test,
// and writes them as a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/safetensors_writer.hpp"
#include "unit/io/stored_file.hpp"

namespace sightline::io::testing {

/// Tensors by name, to be changed by a test before they are written.
struct PackedStore {
  struct Tensor {
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors;

  template <class T>
  void add(const std::string& name, DType dtype, const Shape& shape, const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    tensors[name] = {dtype, shape, std::move(bytes)};
  }
  void write(const Directory& directory) const {
    SafetensorsWriter writer(directory.file("model.safetensors"));
    for (const auto& [name, tensor] : tensors) {
      writer.add(name, {name, tensor.dtype, tensor.shape, tensor.bytes.data(),
                        tensor.shape.rank() == 0 ? 1 : tensor.shape.back()});
    }
    writer.finish();
  }
};

/// Codes of a matrix [out, in], a scale and a zero point for every row and group of columns.
struct Matrix {
  std::int64_t out = 0, in = 0, group = 1;
  int bits = 4;

  [[nodiscard]] std::int64_t groups() const { return (in + group - 1) / group; }
  [[nodiscard]] unsigned code(std::int64_t o, std::int64_t k) const {
    return static_cast<unsigned>(o * 7 + k * 5 + o * k) % (1U << bits);
  }
  [[nodiscard]] unsigned zero(std::int64_t o, std::int64_t g) const {
    return 1 + static_cast<unsigned>(o * 3 + g) % ((1U << bits) - 1);
  }
  [[nodiscard]] float scale(std::int64_t o, std::int64_t g) const {
    return static_cast<float>(1 + (o + 2 * g) % 5) * 0.125F;
  }
  /// Word `index` of values packed along one dimension.
  template <class Value>
  [[nodiscard]] std::uint32_t word(std::int64_t index, std::int64_t count,
                                   const Value& value) const {
    std::uint32_t packed = 0;
    const int per_word = 32 / bits;
    for (int i = 0; i < per_word && index * per_word + i < count; ++i)
      packed |= value(index * per_word + i) << (bits * i);
    return packed;
  }
  [[nodiscard]] std::int64_t words(std::int64_t n) const { return (n * bits + 31) / 32; }
};

/// gptqmodel's first format: qweight [in / 8][out], qzeros [groups][out / 8] less one. `group_of`
/// gives the group of a column.
template <class GroupOf>
void add_gptq(PackedStore& store, const std::string& name, const Matrix& m,
              const GroupOf& group_of) {
  std::vector<std::uint32_t> weights, zeros;
  std::vector<float> scales;
  std::vector<std::int32_t> index;
  for (std::int64_t w = 0; w < m.words(m.in); ++w) {
    for (std::int64_t o = 0; o < m.out; ++o)
      weights.push_back(m.word(w, m.in, [&](std::int64_t k) { return m.code(o, k); }));
  }
  for (std::int64_t g = 0; g < m.groups(); ++g) {
    for (std::int64_t w = 0; w < m.words(m.out); ++w)
      zeros.push_back(m.word(w, m.out, [&](std::int64_t o) { return m.zero(o, g) - 1; }));
    for (std::int64_t o = 0; o < m.out; ++o) scales.push_back(m.scale(o, g));
  }
  for (std::int64_t k = 0; k < m.in; ++k) index.push_back(static_cast<std::int32_t>(group_of(k)));
  store.add(name + ".qweight", DType::i32, {m.words(m.in), m.out}, weights);
  store.add(name + ".qzeros", DType::i32, {m.groups(), m.words(m.out)}, zeros);
  store.add(name + ".scales", DType::f32, {m.groups(), m.out}, scales);
  store.add(name + ".g_idx", DType::i32, {m.in}, index);
}

inline void add_awq(PackedStore& store, const std::string& name, const Matrix& m) {
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<std::uint32_t> weights, zeros;
  std::vector<float> scales;
  const auto in_order = [&](std::int64_t w, const auto& value) {
    std::uint32_t packed = 0;
    for (int i = 0; i < 8; ++i) packed |= value(w * 8 + kOrder[i]) << (4 * i);
    return packed;
  };
  for (std::int64_t k = 0; k < m.in; ++k) {
    for (std::int64_t w = 0; w < m.out / 8; ++w)
      weights.push_back(in_order(w, [&](std::int64_t o) { return m.code(o, k); }));
  }
  for (std::int64_t g = 0; g < m.groups(); ++g) {
    for (std::int64_t w = 0; w < m.out / 8; ++w)
      zeros.push_back(in_order(w, [&](std::int64_t o) { return m.zero(o, g); }));
    for (std::int64_t o = 0; o < m.out; ++o) scales.push_back(m.scale(o, g));
  }
  store.add(name + ".qweight", DType::i32, {m.in, m.out / 8}, weights);
  store.add(name + ".qzeros", DType::i32, {m.groups(), m.out / 8}, zeros);
  store.add(name + ".scales", DType::f32, {m.groups(), m.out}, scales);
}

/// compressed-tensors, pack-quantized, with zero points.
inline void add_pack_quantized(PackedStore& store, const std::string& name, const Matrix& m) {
  std::vector<std::uint32_t> weights, zeros;
  std::vector<float> scales;
  for (std::int64_t o = 0; o < m.out; ++o) {
    for (std::int64_t w = 0; w < m.words(m.in); ++w)
      weights.push_back(m.word(w, m.in, [&](std::int64_t k) { return m.code(o, k); }));
    for (std::int64_t g = 0; g < m.groups(); ++g) scales.push_back(m.scale(o, g));
  }
  for (std::int64_t w = 0; w < m.words(m.out); ++w) {
    for (std::int64_t g = 0; g < m.groups(); ++g)
      zeros.push_back(m.word(w, m.out, [&](std::int64_t o) { return m.zero(o, g); }));
  }
  store.add(name + ".weight_packed", DType::i32, {m.out, m.words(m.in)}, weights);
  store.add(name + ".weight_scale", DType::f32, {m.out, m.groups()}, scales);
  store.add(name + ".weight_zero_point", DType::i32, {m.words(m.out), m.groups()}, zeros);
  store.add(name + ".weight_shape", DType::i64, {2}, std::vector<std::int64_t>{m.out, m.in});
}

/// A matrix of bytes in blocks of `rows` x m.group with a scale each, named as fp8 names them.
inline void add_fp8(PackedStore& store, const std::string& name, const Matrix& m,
                    std::int64_t rows) {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
  for (std::int64_t o = 0; o < m.out; ++o) {
    for (std::int64_t k = 0; k < m.in; ++k)
      codes.push_back(static_cast<std::uint8_t>(m.code(o, k) % 120));
  }
  for (std::int64_t r = 0; r < (m.out + rows - 1) / rows; ++r) {
    for (std::int64_t g = 0; g < m.groups(); ++g) scales.push_back(m.scale(r, g));
  }
  store.add(name + ".weight", DType::f8_e4m3, {m.out, m.in}, codes);
  store.add(name + ".weight_scale_inv", DType::f32, {(m.out + rows - 1) / rows, m.groups()},
            scales);
}

inline std::shared_ptr<const Quantisation> quantisation_of(const std::string& config) {
  const Json json = parse_json("{\"quantization_config\": " + config + "}", "config.json");
  return parse_quantisation(JsonReader(json, "config.json", "", Code::invalid_config),
                            "config.json");
}

/// The matrix "m.weight" of a stored checkpoint, every element as float.
inline Weight load_matrix(const Directory& directory, const std::string& config,
                          const Matrix& matrix) {
  static std::vector<std::shared_ptr<const Checkpoint>> kept;  // owns the bytes
  kept.push_back(Checkpoint::open(directory.path()));
  const Loader root(kept.back(), quantisation_of(config));
  return root.at("m").weight("weight", {matrix.out, matrix.in});
}

}  // namespace sightline::io::testing
