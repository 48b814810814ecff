// The quantization_config that is written. Protects: it says of every module what is stored, in the
// words of compressed-tensors, for models with one group size and with several.
#include "io/pack_config.hpp"

#include <gtest/gtest.h>

#include "io/quantisation.hpp"

namespace sightline::io {
namespace {

const std::string kLayer = "model.language_model.layers.";

/// Two layers of a mixture of experts, as its tensors name modules.
std::vector<PackedModuleGroup> modules(std::int64_t wide, std::int64_t narrow) {
  std::vector<PackedModuleGroup> list{{"lm_head", 0},
                                      {"model.visual.blocks.0.attn.qkv", 0},
                                      {"model.visual.merger.linear_fc1", 0},
                                      {"mtp.layers.0.mlp.down_proj", 0}};
  for (const std::string layer : {"0.", "11."}) {
    for (const char* module : {"linear_attn.in_proj_qkv", "mlp.shared_expert.up_proj"})
      list.push_back({kLayer + layer + module, wide});
    list.push_back({kLayer + layer + "mlp.shared_expert.down_proj", narrow});
    for (const char* module : {"linear_attn.in_proj_a", "linear_attn.in_proj_b", "mlp.gate",
                               "linear_attn.conv1d", "mlp.shared_expert_gate", "mlp.experts"})
      list.push_back({kLayer + layer + module, 0});
  }
  return list;
}

std::shared_ptr<const Quantisation> read(const Json& config) {
  const Json root = Json::Object{{"quantization_config", config}};
  return parse_quantisation({root, "config.json", "", Code::invalid_config}, "config.json");
}

TEST(PackConfig, OneGroupSizeTargetsTheClassAndNamesWhatIsLeft) {
  const Json config = pack_quantized_config(4, modules(32, 32));
  EXPECT_EQ(to_json_text(config),
            R"({"quant_method":"compressed-tensors","format":"pack-quantized",)"
            R"("quantization_status":"compressed","config_groups":{"group_0":{)"
            R"("targets":["Linear"],"weights":{"num_bits":4,"type":"int","symmetric":true,)"
            R"("strategy":"group","group_size":32,"dynamic":false},"input_activations":null,)"
            R"("output_activations":null,"format":"pack-quantized"}},"ignore":["re:.*lm_head$",)"
            R"("re:.*visual\\..*","re:.*\\.linear_attn\\.in_proj_[ab]$",)"
            R"("re:.*\\.linear_attn\\.conv1d$","re:.*\\.mlp\\.gate$",)"
            R"("re:.*\\.mlp\\.shared_expert_gate$","re:.*\\.mlp\\.experts(\\..*)?$",)"
            R"("re:.*mtp\\..*"],"kv_cache_scheme":null})");
}

TEST(PackConfig, SeveralGroupSizesNameTheirModules) {
  const auto stored = modules(128, 64);
  const Json config = pack_quantized_config(8, stored);
  const Json::Object& groups = config.find("config_groups")->as_object();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(to_json_text(*groups[0].second.find("targets")),
            R"(["re:.*\\.layers\\.\\d+\\.linear_attn\\.in_proj_qkv$",)"
            R"("re:.*\\.layers\\.\\d+\\.mlp\\.shared_expert\\.up_proj$"])");
  const auto quantisation = read(config);
  for (const PackedModuleGroup& module : stored) {
    const WeightScheme* scheme =
        quantisation->ignores(module.module) ? nullptr : quantisation->scheme_of(module.module);
    ASSERT_EQ(scheme != nullptr, module.group_cols > 0) << module.module;
    if (scheme == nullptr) continue;
    EXPECT_EQ(scheme->group_cols, module.group_cols) << module.module;
    EXPECT_EQ(scheme->code, PackedCode::u8);
    EXPECT_FALSE(scheme->zero_points);
  }
  // Names under the prefixes of other engines: the head of a tied model, and experts one by one.
  EXPECT_TRUE(quantisation->ignores("language_model.lm_head"));
  EXPECT_TRUE(quantisation->ignores("language_model.model.layers.0.mlp.experts.0.gate_proj"));
  EXPECT_TRUE(quantisation->ignores("visual.blocks.0.attn.qkv"));
}

TEST(PackConfig, WhatIsLeftOfAKindThatRecipesDoNotNameIsNamed) {
  const Json config = pack_quantized_config(8, {{kLayer + "0.mlp.up_proj", 32},
                                                {kLayer + "0.mlp.experts.0.up_proj", 32},
                                                {kLayer + "0.mlp.experts.0.down_proj", 0},
                                                {kLayer + "0.mlp.experts.1.up_proj", 32},
                                                {kLayer + "0.mlp.experts.1.down_proj", 0},
                                                {"model.odd(name", 0}});
  EXPECT_EQ(to_json_text(*config.find("ignore")),
            R"(["re:.*lm_head$","re:.*\\.layers\\.\\d+\\.mlp\\.experts\\.\\d+\\.down_proj$",)"
            R"("re:model\\.odd\\(name$"])");
}

TEST(PackConfig, ModulesThatDifferBetweenLayersAreRefused) {
  const auto differ = [](std::int64_t first, std::int64_t second) {
    return pack_quantized_config(
        8, {{kLayer + "0.mlp.up_proj", first}, {kLayer + "1.mlp.up_proj", second}});
  };
  EXPECT_NO_THROW(differ(64, 64));
  EXPECT_THROW(differ(64, 32), Error);
}

TEST(PackConfig, KindsOfModules) {
  EXPECT_EQ(module_kind(kLayer + "12.mlp.experts.3.up_proj"), "layers.*.mlp.experts.*.up_proj");
  EXPECT_EQ(module_kind("model.layers.0.self_attn.q_proj"), "layers.*.self_attn.q_proj");
  EXPECT_EQ(module_kind("lm_head"), "lm_head");
  EXPECT_EQ(module_kind("model.visual.blocks.7.attn.qkv"), "model.visual.blocks.*.attn.qkv");
}

}  // namespace
}  // namespace sightline::io
