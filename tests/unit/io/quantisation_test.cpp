// Protects quantization_config: which modules it means, in every spelling of their names, and that
// what this version does not know is refused by its place.
#include "io/quantisation.hpp"

#include <gtest/gtest.h>

#include "unit/io/packed_store.hpp"

namespace sightline::io::testing {
namespace {

const std::string kLayer = "model.language_model.layers.3.";

std::string group(const std::string& targets, const std::string& weights) {
  return R"({"targets": )" + targets + R"(, "weights": )" + weights + "}";
}
std::string tensors(const std::string& groups, const std::string& ignore = "[]",
                    const std::string& format = "pack-quantized") {
  return R"({"quant_method": "compressed-tensors", "format": ")" + format +
         R"(", "config_groups": {)" + groups + R"(}, "ignore": )" + ignore + "}";
}
const std::string kInt4 =
    R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32})";
const std::string kInt8 = R"({"num_bits": 8, "type": "int", "strategy": "channel"})";

TEST(Quantisation, NoneIsNone) {
  const Json json = parse_json("{}", "config.json");
  EXPECT_EQ(parse_quantisation(JsonReader(json, "config.json", "", Code::invalid_config), "f"),
            nullptr);
}

TEST(Quantisation, OfTheTextConfigurationToo) {
  const Json json = parse_json(
      R"({"text_config": {"quantization_config": {"quant_method": "fp8"}}})", "config.json");
  const auto found =
      parse_quantisation(JsonReader(json, "config.json", "", Code::invalid_config), "f");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->scheme_of("x")->text(), "float8_e4m3, blocks of 128 x 128");
}

TEST(Quantisation, Schemes) {
  const auto text = [](const std::string& config) {
    return quantisation_of(config)->scheme_of(kLayer + "mlp.up_proj")->text();
  };
  EXPECT_EQ(text(R"({"quant_method": "fp8", "weight_block_size": null})"),
            "float8_e4m3, one scale");
  EXPECT_EQ(text(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})"),
            "int8, one scale a row, zero points");
  EXPECT_EQ(text(R"({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "GEMM"})"),
            "int4, groups of 64, zero points");
  EXPECT_EQ(text(tensors(R"("g": )" + group(R"(["Linear"])", kInt8))), "int8, one scale a row");
  EXPECT_EQ(text(tensors(R"("g": )" + group(R"(["Linear"])",
                                            R"({"num_bits": 8, "type": "float",
                                                "strategy": "tensor"})"),
                         "[]", "float-quantized")),
            "float8_e4m3, one scale");
  EXPECT_EQ(text(tensors(R"("g": )" + group(R"(["Linear"])",
                                            R"({"num_bits": 8, "type": "float", "strategy": "block",
                                                "block_structure": [128, 128]})"),
                         "[]", "float-quantized")),
            "float8_e4m3, blocks of 128 x 128");
}

// Names go before classes; a group with a format of its own has it.
TEST(Quantisation, GroupsByNameExpressionAndClass) {
  const auto mixed =
      quantisation_of(tensors(R"("a": )" + group(R"(["Linear"])", kInt4) + R"(, "b": )" +
                              group(R"(["re:.*layers\\.3\\..*down_proj$"])", kInt8) + R"(, "c": )" +
                              group(R"(["model.language_model.embed_tokens"])", kInt8)));
  EXPECT_EQ(mixed->scheme_of(kLayer + "mlp.up_proj")->code, PackedCode::u4);
  EXPECT_EQ(mixed->scheme_of(kLayer + "mlp.down_proj")->code, PackedCode::u8);
  EXPECT_EQ(mixed->scheme_of("model.language_model.embed_tokens")->code, PackedCode::u8);
  const auto only = quantisation_of(tensors(R"("a": )" + group(R"(["Linear"])", kInt4)));
  EXPECT_EQ(only->scheme_of("model.language_model.embed_tokens"), nullptr);  // an Embedding
}

TEST(Quantisation, GptqsOwnSettingsOfModules) {
  const auto found = quantisation_of(
      R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic":
          {"-:.*in_proj_[ab]$": {}, "+:.*down_proj": {"bits": 8, "group_size": 64}}})");
  EXPECT_EQ(found->scheme_of(kLayer + "linear_attn.in_proj_a"), nullptr);
  EXPECT_EQ(found->scheme_of(kLayer + "mlp.down_proj")->text(), "int8, groups of 64, zero points");
  EXPECT_EQ(found->scheme_of(kLayer + "mlp.up_proj")->text(), "int4, groups of 128, zero points");
}

// The lists of published checkpoints name modules with and without the model's prefix, and modules
// above those that they mean.
TEST(Quantisation, EverySpellingOfAName) {
  for (const char* entry :
       {"model.language_model.layers.3.mlp.gate", "language_model.layers.3.mlp.gate",
        "model.layers.3.mlp.gate", "language_model.model.layers.3.mlp.gate"}) {
    const auto found = quantisation_of(R"({"quant_method": "fp8", "modules_to_not_convert": [")" +
                                       std::string(entry) + R"("]})");
    EXPECT_TRUE(found->ignores(kLayer + "mlp.gate")) << entry;
    EXPECT_FALSE(found->ignores(kLayer + "mlp.gate_proj")) << entry;
    EXPECT_FALSE(found->ignores("model.language_model.layers.33.mlp.gate")) << entry;
    EXPECT_TRUE(found->ignores("model.layers.3.mlp.gate")) << entry;  // the language model alone
  }
  for (const char* entry : {"visual", "model.visual"}) {
    const auto found = quantisation_of(R"({"quant_method": "fp8", "modules_to_not_convert": [")" +
                                       std::string(entry) + R"("]})");
    EXPECT_TRUE(found->ignores("model.visual.blocks.0.attn.qkv")) << entry;
    EXPECT_FALSE(found->ignores("lm_head")) << entry;
  }
  const auto whole =
      quantisation_of(tensors(R"("g": )" + group(R"(["Linear"])", kInt4),
                              R"(["re:.*visual.*", "model.language_model.layers.3.mlp"])"));
  EXPECT_TRUE(whole->ignores("model.visual.blocks.0.attn.qkv"));
  EXPECT_FALSE(whole->ignores(kLayer + "mlp.up_proj"));  // exact names only in this format
}

TEST(Quantisation, AListOfAnotherModelIsNamed) {
  const std::vector<std::string> modules{"model", "model.visual", kLayer + "mlp.up_proj"};
  const auto fp8 = quantisation_of(
      R"({"quant_method": "fp8", "modules_to_not_convert": ["model.vision_tower", "x"]})");
  EXPECT_FAILS(
      fp8->check_ignored(modules), Code::invalid_config,
      "config.json: quantization_config.modules_to_not_convert: expected names of modules "
      "that stay as they were, found \"model.vision_tower\" and 1 more and no such module");
  const auto packed = quantisation_of(
      tensors(R"("g": )" + group(R"(["Linear"])", kInt4), R"(["re:.*block_sparse_moe.*"])"));
  EXPECT_FAILS(packed->check_ignored(modules), Code::invalid_config,
               "quantization_config.ignore: expected names");
  const auto ends = quantisation_of(
      R"({"quant_method": "fp8", "modules_to_not_convert": ["nothing", "up_proj"]})");
  ends->check_ignored(modules);  // ends of names count, as in transformers
  quantisation_of(R"({"quant_method": "awq", "bits": 4, "group_size": 8,
                      "modules_to_not_convert": ["visual"]})")
      ->check_ignored(modules);
}

struct Fault {
  std::string config, part;
};

TEST(Quantisation, FaultsAreNamedByTheirPlace) {
  const std::string gptq = R"({"quant_method": "gptq", "group_size": 128, )";
  const auto weights = [&](const std::string& text) {
    return tensors(R"("g": )" + group(R"(["Linear"])", text));
  };
  for (const Fault& fault : {
           Fault{"3", "quantization_config: expected an object, found integer"},
           {"{}", "quantization_config.quant_method: expected"},
           {R"({"quant_method": "bitsandbytes"})",
            "quantization_config.quant_method: expected \"fp8\", \"gptq\", \"awq\" or "
            "\"compressed-tensors\", found \"bitsandbytes\""},
           {gptq + R"("bits": 3})", "quantization_config.bits: expected 4 or 8 bits, found 3"},
           {gptq + R"("bits": 4, "checkpoint_format": "marlin"})", "checkpoint_format: expected"},
           {R"({"quant_method": "gptq", "bits": 4, "group_size": 0})", "group_size: expected"},
           {gptq + R"("bits": 4, "dynamic": {"+:(": {}}})", "expected a regular expression"},
           {R"({"quant_method": "awq", "bits": 8, "group_size": 8})", "bits: expected 4 bits"},
           {R"({"quant_method": "awq", "bits": 4, "group_size": 8, "version": "gemv"})",
            "version: expected \"gemm\", found \"gemv\""},
           {R"({"quant_method": "fp8", "fmt": "e5m2"})", "fmt: expected"},
           {R"({"quant_method": "fp8", "weight_block_size": [128]})",
            "weight_block_size: expected 2 numbers (rows, columns), found 1"},
           {weights(R"({"num_bits": 3, "type": "int"})"),
            "quantization_config.config_groups.g.weights.num_bits: expected 4 or 8 bits, found 3"},
           {weights(R"({"num_bits": 4, "type": "float"})"), "type: expected"},
           {weights(R"({"num_bits": 4, "type": "int", "strategy": "group"})"), "group_size"},
           {tensors(R"("g": )" + group(R"(["Linear"])", kInt4), "[]", "nvfp4-pack-quantized"),
            "quantization_config.format: expected"},
           {tensors(R"("g": )" + group(R"(["re:["])", kInt4)), "expected a regular expression"},
           {tensors(R"("g": )" + group(R"([])", kInt4)), "targets: expected"},
           {tensors(R"("g": )" + group(R"(["Linear"])", kInt4), R"(["re:(a"])"),
            "quantization_config.ignore[0]: expected a regular expression"},
       }) {
    EXPECT_FAILS(quantisation_of(fault.config), Code::invalid_config, fault.part);
  }
}

// An expression that would be tried for ever gives up.
TEST(Quantisation, ExpressionsEnd) {
  const auto found =
      quantisation_of(tensors(R"("g": )" + group(R"(["Linear"])", kInt4), R"(["re:(a+)+$"])"));
  EXPECT_FALSE(found->ignores(std::string(4000, 'a') + "b"));
}

}  // namespace
}  // namespace sightline::io::testing
