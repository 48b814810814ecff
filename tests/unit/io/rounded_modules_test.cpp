// Which matrices are rounded. Protects: the large projections of the language model and nothing
// else, in every layout that published checkpoints have; both precisions take the same ones.
#include "io/rounded_modules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sightline::io {
namespace {

constexpr std::int64_t kOut = 64, kIn = 96;

TEST(RoundedModules, LinearModulesOfTheLanguageModel) {
  for (const std::string layer : {"model.language_model.layers.0.", "model.layers.23."}) {
    for (const char* module :
         {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
          "linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.out_proj",
          "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "mlp.experts.0.gate_proj",
          "mlp.experts.511.up_proj", "mlp.experts.12.down_proj", "mlp.shared_expert.gate_proj",
          "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj"})
      EXPECT_TRUE(is_rounded(layer + module + ".weight", {kOut, kIn})) << layer << module;
  }
}

TEST(RoundedModules, NothingElse) {
  for (const char* name : {"model.visual.blocks.0.attn.qkv.weight",
                           "model.visual.blocks.0.mlp.linear_fc1.weight",
                           "model.visual.merger.linear_fc1.weight",
                           "model.language_model.embed_tokens.weight",
                           "lm_head.weight",
                           "model.language_model.norm.weight",
                           "mtp.fc.weight",
                           "mtp.layers.0.self_attn.q_proj.weight",
                           "mtp.layers.0.mlp.down_proj.weight",
                           "model.language_model.layers.0.linear_attn.in_proj_a.weight",
                           "model.language_model.layers.0.linear_attn.in_proj_b.weight",
                           "model.language_model.layers.0.linear_attn.conv1d.weight",
                           "model.language_model.layers.0.mlp.gate.weight",
                           "model.language_model.layers.0.mlp.shared_expert_gate.weight",
                           "model.language_model.layers.0.self_attn.q_norm.weight",
                           "model.language_model.layers.0.self_attn.q_proj.bias",
                           "model.language_model.layers.0.self_attn.q_proj",
                           "model.language_model.layers.0.mlp.experts.down_proj",
                           "model.language_model.layers.0.mlp.experts.down_proj.weight",
                           "model.language_model.layers.0.mlp.experts..down_proj.weight",
                           "model.language_model.layers.self_attn.q_proj.weight",
                           "model.language_model.layers..self_attn.q_proj.weight",
                           "model.language_model.layers.0x.self_attn.q_proj.weight",
                           "other.model.layers.0.self_attn.q_proj.weight",
                           "model.language_model.layers.0.other.self_attn.q_proj.weight",
                           ".weight",
                           "weight",
                           ""})
    EXPECT_FALSE(is_rounded(name, {kOut, kIn})) << name;
}

TEST(RoundedModules, OnlyMatricesOfSomeSizeThatGroupsCover) {
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  EXPECT_TRUE(is_rounded(name, {kLeastRoundedOutputs, 32}));
  EXPECT_FALSE(is_rounded(name, {kLeastRoundedOutputs - 1, 32}));
  EXPECT_FALSE(is_rounded(name, {kOut, 31}));
  EXPECT_FALSE(is_rounded(name, {kOut, 48}));
  EXPECT_FALSE(is_rounded(name, {kOut, 0}));
  EXPECT_FALSE(is_rounded(name, {8, kOut, kIn}));
  EXPECT_FALSE(is_rounded(name, {kOut * kIn}));
}

}  // namespace
}  // namespace sightline::io
