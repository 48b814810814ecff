// Protects the reading of quantised weights: every packing, odd sizes included, gives the values
// that the format defines; whatever is missing, of another shape, size or type is named.
#include <fmt/format.h>

#include "unit/io/packed_store.hpp"

namespace sightline::io::testing {
namespace {

constexpr const char* kFp8 = R"({"quant_method": "fp8", "weight_block_size": [16, 32]})";

std::string gptq(int group, bool act_order, int bits = 4) {
  return fmt::format(R"({{"quant_method": "gptq", "bits": {}, "group_size": {}, "desc_act": {}}})",
                     bits, group, act_order);
}
std::string awq(int group) {
  return fmt::format(R"({{"quant_method": "awq", "bits": 4, "group_size": {}}})", group);
}
std::string packed(int group, int bits, bool symmetric, const std::string& more = "") {
  return fmt::format(
      R"({{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": )"
      R"({{"group_0": {{"targets": ["Linear"], "weights": {{"num_bits": {}, "type": "int", )"
      R"("symmetric": {}, "strategy": "group", "group_size": {}}}}}}}{}}})",
      bits, symmetric, group, more);
}

/// By the definition, with the columns where they belong.
float value_of(const PackedWeight& w, std::int64_t o, std::int64_t j) {
  const std::byte* row = w.row(o);
  const unsigned code = w.code == PackedCode::u4
                            ? static_cast<unsigned>(row[j / 2]) >> (4 * (j % 2)) & 15U
                            : static_cast<unsigned>(row[j]);
  const std::int64_t group = w.group_of(o, j);
  const float plain = w.code == PackedCode::f8_e4m3
                          ? widen(f8_e4m3{static_cast<std::uint8_t>(code)})
                          : static_cast<float>(code);
  return (plain - w.zero_of(group)) * w.scale(group);
}

template <class Expected>
void expect_values(const Weight& weight, const Matrix& m, const Expected& expected) {
  ASSERT_TRUE(weight.packed);
  const PackedWeight& w = *weight.packed;
  for (std::int64_t o = 0; o < m.out; ++o) {
    for (std::int64_t j = 0; j < m.in; ++j) {
      const std::int64_t k = w.columns != nullptr ? w.columns[j] : j;
      ASSERT_EQ(value_of(w, o, j), expected(o, k)) << o << ", " << k;
    }
  }
}

class PackedTensors : public ::testing::Test {
 protected:
  Weight load(const std::string& config, const Matrix& m) {
    store.write(directory);
    return load_matrix(directory, config, m);
  }
  Directory directory;
  PackedStore store;
};

TEST_F(PackedTensors, GptqInBothOrdersAndOddSizes) {
  for (const Matrix& m :
       {Matrix{24, 64, 32}, {5, 40, 16}, {13, 27, 9}, {8, 20, 8, 8}, {3, 9, 4, 8}}) {
    for (const bool act_order : {false, true}) {
      const auto group_of = [&](std::int64_t k) {
        const std::int64_t place = act_order ? m.in - 1 - k : k;  // the last column comes first
        return place / m.group;
      };
      add_gptq(store, "m", m, group_of);
      const Weight weight = load(gptq(static_cast<int>(m.group), act_order, m.bits), m);
      EXPECT_EQ(weight.packed->columns != nullptr, act_order);
      expect_values(weight, m, [&](std::int64_t o, std::int64_t k) {
        const std::int64_t g = group_of(k);
        return (static_cast<float>(m.code(o, k)) - static_cast<float>(m.zero(o, g))) *
               m.scale(o, g);
      });
    }
  }
}

// The second format stores zero points as they are.
TEST_F(PackedTensors, GptqOfTheSecondFormat) {
  const Matrix m{16, 32, 16};
  add_gptq(store, "m", m, [](std::int64_t k) { return k / 16; });
  const Weight weight = load(R"({"quant_method": "gptq", "bits": 4, "group_size": 16,
                                 "checkpoint_format": "gptq_v2"})",
                             m);
  expect_values(weight, m, [&](std::int64_t o, std::int64_t k) {
    return (static_cast<float>(m.code(o, k)) - static_cast<float>(m.zero(o, k / 16) - 1)) *
           m.scale(o, k / 16);
  });
}

TEST_F(PackedTensors, AwqAndOddSizes) {
  for (const Matrix& m : {Matrix{16, 64, 32}, {8, 21, 8}, {24, 13, 13}}) {
    add_awq(store, "m", m);
    expect_values(load(awq(static_cast<int>(m.group)), m), m, [&](std::int64_t o, std::int64_t k) {
      return (static_cast<float>(m.code(o, k)) - static_cast<float>(m.zero(o, k / m.group))) *
             m.scale(o, k / m.group);
    });
  }
}

TEST_F(PackedTensors, PackQuantizedOfBothWidths) {
  for (const bool symmetric : {true, false}) {
    for (const Matrix& m : {Matrix{12, 64, 32}, {9, 30, 16}, {5, 19, 8, 8}, {33, 64, 64, 8}}) {
      add_pack_quantized(store, "m", m);
      const Weight weight = load(packed(static_cast<int>(m.group), m.bits, symmetric), m);
      expect_values(weight, m, [&](std::int64_t o, std::int64_t k) {
        const auto zero =
            static_cast<float>(symmetric ? 1U << (m.bits - 1) : m.zero(o, k / m.group));
        return (static_cast<float>(m.code(o, k)) - zero) * m.scale(o, k / m.group);
      });
      EXPECT_TRUE(weight.packed->owned_codes.empty());  // used where they lie
    }
  }
}

TEST_F(PackedTensors, Fp8BlocksThatDoNotFillTheMatrix) {
  const Matrix m{37, 75, 32, 8};
  add_fp8(store, "m", m, 16);
  expect_values(load(kFp8, m), m, [&](std::int64_t o, std::int64_t k) {
    return widen(f8_e4m3{static_cast<std::uint8_t>(m.code(o, k) % 120)}) * m.scale(o / 16, k / 32);
  });
}

// Modules that a configuration would pack may be stored as floats; scales that round activations
// are not used, but known.
TEST_F(PackedTensors, PlainWeightsAndActivationScalesAreNoFaults) {
  store.add("m.weight", DType::f32, {2, 3}, std::vector<float>(6, 1.5F));
  store.add("m.input_scale", DType::f32, {1}, std::vector<float>(1, 1.0F));
  store.write(directory);
  const Loader root(Checkpoint::open(directory.path()), quantisation_of(kFp8));
  EXPECT_FALSE(root.at("m").weight("weight", {2, 3}).packed);
  EXPECT_EQ(root.finish().skipped, 1);
}

TEST_F(PackedTensors, WhatIsMissingIsNamed) {
  const Matrix m{16, 32, 16, 4};
  struct Case {
    std::string config, tensor;
    void (*add)(PackedStore&, const Matrix&);
  };
  const auto add_gptq_plain = [](PackedStore& s, const Matrix& matrix) {
    add_gptq(s, "m", matrix, [](std::int64_t k) { return 1 - k / 16; });
  };
  const auto add_awq_plain = [](PackedStore& s, const Matrix& x) { add_awq(s, "m", x); };
  const auto add_packed = [](PackedStore& s, const Matrix& x) { add_pack_quantized(s, "m", x); };
  const auto add_blocks = [](PackedStore& s, const Matrix& x) { add_fp8(s, "m", x, 16); };
  for (const Case& c : {Case{gptq(16, true), "m.scales", add_gptq_plain},
                        {gptq(16, true), "m.qzeros", add_gptq_plain},
                        {gptq(16, true), "m.g_idx", add_gptq_plain},
                        {awq(16), "m.scales", add_awq_plain},
                        {awq(16), "m.qzeros", add_awq_plain},
                        {packed(16, 4, false), "m.weight_scale", add_packed},
                        {packed(16, 4, false), "m.weight_zero_point", add_packed},
                        {R"({"quant_method": "fp8", "weight_block_size": [16, 16]})",
                         "m.weight_scale_inv", add_blocks}}) {
    store.tensors.clear();
    c.add(store, m);
    ASSERT_EQ(store.tensors.erase(c.tensor), 1U);
    EXPECT_FAILS(load(c.config, m), Code::missing_tensor, "tensor " + c.tensor + ": expected the ");
  }
  store.tensors.erase("m.qweight");
  EXPECT_FAILS(load(gptq(16, false), m), Code::missing_tensor, "tensor m.qweight");
}

TEST_F(PackedTensors, AnotherGroupSizeShapeOrTypeIsNamed) {
  const Matrix m{16, 32, 16};
  add_gptq(store, "m", m, [](std::int64_t k) { return k / 16; });
  EXPECT_FAILS(load(gptq(8, false), m), Code::tensor_shape,
               "tensor m.qzeros: expected shape [4, 2] by quantization_config (int4, groups of 8, "
               "zero points), found [2, 2]");
  EXPECT_FAILS(load(gptq(16, false, 8), m), Code::tensor_shape, "tensor m.qweight: expected shape");
  EXPECT_FAILS(load(gptq(16, false), {16, 40, 16}), Code::tensor_shape, "m.qweight");
  store.tensors["m.scales"].dtype = DType::i32;
  EXPECT_FAILS(load(gptq(16, false), m), Code::tensor_dtype,
               "tensor m.scales: expected F32, BF16 or F16");
  store.tensors.clear();
  add_awq(store, "m", m);
  EXPECT_FAILS(load(awq(-1), m), Code::tensor_shape, "m.qzeros");
  store.tensors.clear();
  add_fp8(store, "m", {16, 64, 32, 8}, 16);
  EXPECT_FAILS(load(kFp8, {16, 96, 32, 8}), Code::tensor_shape, "tensor m.weight: expected shape");
  EXPECT_FAILS(load(R"({"quant_method": "fp8"})", {16, 64, 32, 8}), Code::tensor_shape,
               "tensor m.weight_scale_inv: expected shape [1, 1]");
  EXPECT_FAILS(load(R"({"quant_method": "awq", "bits": 4, "group_size": 16})", {16, 64, 32, 8}),
               Code::missing_tensor, "m.qweight");
}

TEST_F(PackedTensors, BadOrdersOfColumns) {
  const Matrix m{8, 32, 16};
  add_gptq(store, "m", m, [](std::int64_t k) { return k < 20 ? 0 : 1; });
  EXPECT_FAILS(load(gptq(16, true), m), Code::invalid_config,
               "tensor m.g_idx: expected 2 groups of 16 columns");
  for (const int bad : {-2, 2, 1'000'000'000}) {
    add_gptq(store, "m", m, [&](std::int64_t k) { return k == 3 ? bad : k / 16; });
    EXPECT_FAILS(load(gptq(16, true), m), Code::invalid_config, "m.g_idx");
  }
}

TEST_F(PackedTensors, TheNotedShapeMustBeTheModels) {
  const Matrix m{8, 32, 16};
  add_pack_quantized(store, "m", m);
  store.add("m.weight_shape", DType::i64, {2}, std::vector<std::int64_t>{8, 33});
  EXPECT_FAILS(load(packed(16, 4, false), m), Code::tensor_shape,
               "tensor m.weight_shape: expected the values [8, 32] by the configuration, found "
               "[8, 33]");
}

// Codes without a word in the configuration, or against its word, are never read as numbers.
TEST_F(PackedTensors, TheConfigurationMustSayHow) {
  const Matrix m{16, 32, 16, 8};
  add_fp8(store, "m", m, 16);
  store.write(directory);
  EXPECT_FAILS(Loader(Checkpoint::open(directory.path())).at("m").weight("weight", {16, 32}),
               Code::tensor_dtype, "found F8_E4M3: quantised, though nothing");
  EXPECT_FAILS(load(R"({"quant_method": "fp8", "weight_block_size": [16, 16],
                        "modules_to_not_convert": ["m"]})",
                    m),
               Code::tensor_dtype, "tensor m.weight");
  store.tensors.clear();
  add_pack_quantized(store, "m", {16, 32, 16});
  EXPECT_FAILS(load(packed(16, 4, false, R"(, "ignore": ["m"])"), m), Code::invalid_config,
               "expected it to say how tensor m.weight_packed is packed");
}

}  // namespace
}  // namespace sightline::io::testing
