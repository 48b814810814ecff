// Protects: the four statements about an insertion are computed from its operands and result, and
// each is false when it should be; hidden states that are the same tensor are recognised.
#include "audit/merge_proof.hpp"

#include <gtest/gtest.h>

#include "audit/hidden_states.hpp"
#include "traced_case.hpp"

namespace sightline::audit {
namespace {

constexpr std::int32_t kImage = 7;

/// An insertion into three rows of two values, the middle one a placeholder.
std::array<Equality, 4> statements(std::vector<float> combined) {
  model::ModelInfo info;
  info.image_token_id = kImage;
  MergeWatch watch(info);
  const Site root{0, "", "Root"}, insertion{1, "model", "masked_scatter", {}, true};
  const std::vector<std::int64_t> ids{1, kImage, 2};
  const std::vector<float> original{1, 2, 3, 4, 5, 6}, visual{8, 9};
  const auto bytes = [](const auto& values) {
    return reinterpret_cast<const std::byte*>(values.data());
  };
  const auto here = std::source_location::current();
  watch.enter(root, here, here);
  watch.input(root, {"input_ids", DType::i64, {1, 3}, bytes(ids), 3});
  watch.enter(insertion, here, here);
  watch.input(insertion, {"inputs_embeds", DType::f32, {1, 3, 2}, bytes(original), 2});
  watch.input(insertion, {"source", DType::f32, {1, 2}, bytes(visual), 2});
  watch.output(insertion, {"output", DType::f32, {1, 3, 2}, bytes(combined), 2});
  watch.leave(insertion);
  EXPECT_EQ(watch.proofs().size(), 1U);
  return watch.proofs()[0].equalities();
}

std::string verdicts(const std::vector<float>& combined) {
  std::string text;
  for (const Equality& equality : statements(combined)) text += equality.ok() ? "O" : "D";
  return text;
}

TEST(MergeProof, EachStatementCanFail) {
  EXPECT_EQ(verdicts({1, 2, 8, 9, 5, 6}), "OOOO");
  EXPECT_EQ(verdicts({1, 2, 8, 8, 5, 6}), "ODOO");  // a feature arrived changed
  EXPECT_EQ(verdicts({1, 2, 3, 4, 5, 6}), "ODDO");  // nothing was inserted
  EXPECT_EQ(verdicts({1, 2, 8, 9, 5, 7}), "OOOD");  // another row was touched
}

TEST(MergeProof, HoldsForTheGoldenPictures) {
  TracedCase run(model_directory("dense"),
                 model_directory("dense") + "/cases/two-images.safetensors");
  MergeWatch watch(run.model->info());
  run.run(&watch);
  ASSERT_EQ(watch.proofs().size(), 1U);
  const MergeProof& proof = watch.proofs()[0];
  for (const Equality& equality : proof.equalities()) EXPECT_TRUE(equality.ok()) << equality.key;
  ASSERT_EQ(proof.runs.size(), 2U);
  EXPECT_NE(proof.runs[0].sha256, proof.runs[1].sha256);
  EXPECT_EQ(proof.placeholders(), proof.visual[0]);
  const io::Json json = proof_json(watch.proofs());
  EXPECT_TRUE(json.find("ok")->as_bool());
  EXPECT_FALSE(json.find("image_rows_equal_placeholder")->as_bool());
  EXPECT_EQ(json.find("first_positions")->as_array().size(),
            std::min<std::size_t>(12, static_cast<std::size_t>(proof.placeholders())));
}

TEST(MergeProof, TextAloneHasNone) {
  TracedCase run(model_directory("dense"), model_directory("dense") + "/cases/text.safetensors");
  MergeWatch watch(run.model->info());
  run.run(&watch);
  EXPECT_TRUE(watch.proofs().empty());
  EXPECT_TRUE(proof_json(watch.proofs()).is_null());
}

TEST(HiddenStates, AreToldApart) {
  TracedCase run(model_directory("dense"), model_directory("dense") + "/cases/image.safetensors");
  HiddenWatch watch(module_tree(run.model->info().report));
  run.run(&watch);
  const std::vector<HiddenState> states = watch.states();
  ASSERT_EQ(states.size(), 6U);
  EXPECT_TRUE(states[0].same_as(states[1]));   // the tower ends with its last block
  EXPECT_FALSE(states[0].same_as(states[2]));  // the merger makes something else of it
  EXPECT_TRUE(states[3].same_as(states[4]));
  EXPECT_FALSE(towers_share_a_tensor(states));
  EXPECT_EQ(states[2].width(), states[3].width());
  const io::Json json = hidden_json(states);
  EXPECT_FALSE(json.find("same_tensor")->as_bool());
  EXPECT_EQ(json.find("widths")->find("language")->as_int(), run.model->info().hidden_size);
}

}  // namespace
}  // namespace sightline::audit
