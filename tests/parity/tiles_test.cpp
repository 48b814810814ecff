// Protects Precision::bf16 with tile registers (through their plain twin, on any machine): how far
// rounded activations move the logits of whole models, and that bits depend neither on pieces nor
// on threads.
#include <fmt/format.h>

#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "gtest/gtest.h"
#include "model/positions.hpp"

namespace sightline::generate {
namespace {

const std::string kWide = std::string(SIGHTLINE_TEST_DATA) + "/models/dense-wide";

const model::VisionLanguageModel& wide_model() {
  static const std::unique_ptr<model::VisionLanguageModel> model = load_model(kWide, true);
  return *model;
}

ReferenceCase read_case(const char* name) {
  return ReferenceCase::read(fmt::format("{}/cases/{}.safetensors", kWide, name),
                             wide_model().info());
}

/// Relative L2 of the logits from the reference's in float32.
double distance(const char* name, nn::Precision precision) {
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select("amx-twin"), threads, arena);
  pass.precision = precision;
  const ParityReport report =
      run_parity(wide_model(), pass, read_case(name), {1e9, 64, model::RowKind::prompt});
  for (const ParityCheck& check : report.checks) {
    if (check.kind == "logits" && check.comparison) return check.comparison->relative_l2;
  }
  ADD_FAILURE() << "no logits in " << name;
  return 1;
}

TEST(Tiles, RoundedActivationsMoveLogitsByAPercent) {
  for (const char* name : {"text", "text-long", "image", "video"}) {
    const double off = distance(name, nn::Precision::bf16);
    RecordProperty(name, fmt::format("{:.2g}", off));
    EXPECT_LT(off, 2e-2) << name;
    EXPECT_GT(off, 1e-3) << name << ": was anything rounded?";
  }
  EXPECT_LT(distance("text", nn::Precision::f32), 1e-5) << "f32 rounds nothing";
}

TEST(Tiles, PiecesAndThreadsChangeNoBit) {
  const ReferenceCase reference = read_case("text-long");
  const auto n = static_cast<std::int64_t>(reference.ids.size());
  ASSERT_GT(n, 128);
  nn::Positions positions;
  const std::vector<model::TokenType> text(reference.ids.size(), model::TokenType::text);
  (void)model::append_positions(text, {}, {}, 2, 0, positions);
  const auto logits = [&](std::int64_t piece, int count) {
    Threads threads(count);
    Arena arena;
    nn::Pass pass(kernels::select("amx-twin"), threads, arena);
    model::Cache cache = wide_model().new_cache(pass.precision);
    const View view = arena.matrix(n, wide_model().info().vocab_size);
    prompt_in_pieces(wide_model(), pass, reference, {{}, piece, model::RowKind::prompt}, positions,
                     cache, view);
    return std::vector<float>(view.row(0), view.row(0) + n * wide_model().info().vocab_size);
  };
  const std::vector<float> expected = logits(64, 1);
  EXPECT_TRUE(expected == logits(64, 3));
  EXPECT_TRUE(expected == logits(128, 2));
  EXPECT_TRUE(expected == logits(512, 1));
}

}  // namespace
}  // namespace sightline::generate
