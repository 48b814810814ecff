// Protects Precision::bf16 where products round activations to bfloat16, in tile registers and in
// vectors of pairs (through their plain twins, on any machine): how far that moves the logits of
// whole models, and that bits depend neither on pieces nor on threads.
#include <fmt/format.h>

#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "gtest/gtest.h"
#include "parity/logits_in_pieces.hpp"

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
double distance(const char* set, const char* name, nn::Precision precision) {
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select(set), threads, arena);
  pass.precision = precision;
  const ParityReport report =
      run_parity(wide_model(), pass, read_case(name), {1e9, 64, model::RowKind::prompt});
  for (const ParityCheck& check : report.checks) {
    if (check.kind == "logits" && check.comparison) return check.comparison->relative_l2;
  }
  ADD_FAILURE() << "no logits in " << name;
  return 1;
}

class Tiles : public testing::TestWithParam<const char*> {};

TEST_P(Tiles, RoundedActivationsMoveLogitsByAPercent) {
  for (const char* name : {"text", "text-long", "image", "video"}) {
    const double off = distance(GetParam(), name, nn::Precision::bf16);
    RecordProperty(name, fmt::format("{:.2g}", off));
    EXPECT_LT(off, 2e-2) << name;
    EXPECT_GT(off, 1e-3) << name << ": was anything rounded?";
  }
  EXPECT_LT(distance(GetParam(), "text", nn::Precision::f32), 1e-5) << "f32 rounds nothing";
}

TEST_P(Tiles, PiecesAndThreadsChangeNoBit) {
  expect_same_in_pieces(wide_model(), read_case("text-long"), GetParam());
}

INSTANTIATE_TEST_SUITE_P(, Tiles, testing::Values("amx-twin", "avx512-bf16-twin"),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "amx" : "avx512_bf16");
                         });

}  // namespace
}  // namespace sightline::generate
