// Protects the precisions int8 and int4: how far rounding moves the logits, what is rounded and
// what is not, that bits depend neither on pieces nor on threads, and that checkpoints which are
// stored packed keep near their float run when they are multiplied in integers.
#include <fmt/format.h>

#include <string_view>

#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "generate/precision.hpp"
#include "gtest/gtest.h"
#include "kernels/table.hpp"
#include "parity/logits_in_pieces.hpp"

namespace sightline::generate {
namespace {

const std::string kData = std::string(SIGHTLINE_TEST_DATA) + "/";
const std::string kWide = kData + "models/dense-wide";

std::unique_ptr<model::VisionLanguageModel> rounded(
    const std::string& directory, PrecisionMode mode,
    VisionPrecision vision = VisionPrecision::stored) {
  return load_model(directory, true, weight_form(mode, vision, 2));
}

/// What 8-bit weights may cost: with activations of 16 bits, or of 8 where the set has products of
/// bytes (6.5e-2 of plain rounding, and a margin).
double bound_of_int8(const char* set) {
  return kernels::select(set).bytes != nullptr ? 9e-2 : 4e-2;
}

/// The logits against the reference's.
trace::Comparison compared(const model::VisionLanguageModel& model, const std::string& case_file,
                           const char* set = "auto") {
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select(set), threads, arena);
  const ReferenceCase reference = ReferenceCase::read(case_file, model.info());
  const ParityReport report = run_parity(model, pass, reference, {1e9, 64, model::RowKind::prompt});
  for (const ParityCheck& check : report.checks) {
    if (check.kind == "logits" && check.comparison) return *check.comparison;
  }
  ADD_FAILURE() << "no logits in " << case_file;
  return {};
}

/// Relative L2.
double distance(const model::VisionLanguageModel& model, const std::string& case_file,
                const char* set = "auto") {
  return compared(model, case_file, set).relative_l2;
}

TEST(Rounded, Int8MovesLogitsByAFewPercent) {
  for (const char* name : {"text-long", "image"}) {
    const double off = distance(*rounded(kWide, PrecisionMode::int8),
                                fmt::format("{}/cases/{}.safetensors", kWide, name));
    RecordProperty(name, fmt::format("{:.2g}", off));
    EXPECT_LT(off, bound_of_int8("auto")) << name;
    EXPECT_GT(off, 1e-3) << name << ": was anything rounded?";
  }
}

// With activations of 8 bits, as sets with products of bytes have them: the twin has on any
// machine.
TEST(Rounded, BytesMoveLogitsByAFewPercentMore) {
  const auto model = rounded(kWide, PrecisionMode::int8);
  for (const char* name : {"text-long", "image"}) {
    const std::string file = fmt::format("{}/cases/{}.safetensors", kWide, name);
    const double off = distance(*model, file, "amx-twin");
    RecordProperty(name, fmt::format("{:.2g}", off));
    EXPECT_LT(off, bound_of_int8("amx-twin")) << name;
    EXPECT_NE(off, distance(*model, file, "reference")) << name << ": was it multiplied in bytes?";
  }
}

// Few rows run in vectors, many in tiles.
TEST(Rounded, PiecesAndThreadsChangeNoBitInBytes) {
  for (const PrecisionMode mode : {PrecisionMode::int8, PrecisionMode::int4}) {
    const auto model = rounded(kWide, mode);
    const ReferenceCase reference =
        ReferenceCase::read(kWide + "/cases/text-long.safetensors", model->info());
    expect_same_in_pieces(*model, reference, "amx-twin");
  }
}

// The tower in 8 bits alone: the language model stays as it is stored.
TEST(Rounded, TheTowerToo) {
  const std::string image = kWide + "/cases/image.safetensors",
                    text = kWide + "/cases/text.safetensors";
  const auto tower = rounded(kWide, PrecisionMode::bf16, VisionPrecision::int8);
  const auto stored = rounded(kWide, PrecisionMode::bf16);
  EXPECT_EQ(distance(*tower, text), distance(*stored, text));
  EXPECT_GT(distance(*tower, image), distance(*stored, image));
  EXPECT_LT(distance(*tower, image), bound_of_int8("auto"));
}

// 4 bits are an eighth of the resolution of 7 to 8: the random weights of this checkpoint show what
// they cost at worst.
TEST(Rounded, Int4IsCoarserByTheBitsItLacks) {
  const std::string text = kWide + "/cases/text-long.safetensors";
  const double eight = distance(*rounded(kWide, PrecisionMode::int8), text),
               four = distance(*rounded(kWide, PrecisionMode::int4), text);
  RecordProperty("int4", fmt::format("{:.2g}", four));
  EXPECT_LT(four, 24 * eight);
  // Half of what eight bits cost is that of activations where those have 8 bits as well.
  EXPECT_GT(four, (kernels::select("auto").bytes != nullptr ? 3 : 6) * eight);
}

TEST(Rounded, PiecesAndThreadsChangeNoBit) {
  for (const PrecisionMode mode : {PrecisionMode::int8, PrecisionMode::int4}) {
    const auto model = rounded(kWide, mode);
    const ReferenceCase reference =
        ReferenceCase::read(kWide + "/cases/text-long.safetensors", model->info());
    expect_same_in_pieces(*model, reference, "auto");
  }
}

// Stored packed: the integer product rounds activations to 14 bits and weights to 12, or, where
// codes have 4 bits, activations to 8.
TEST(Rounded, StoredPackedInIntegers) {
  for (const char* name :
       {"dense-gptq", "dense-gptq-v2", "dense-awq", "dense-int4", "dense-int8"}) {
    const std::string folder = kData + "quantised/" + name, text = folder + "/text.safetensors";
    const double off = distance(*rounded(folder, PrecisionMode::automatic), text);
    RecordProperty(name, fmt::format("{:.2g}", off));
    const double floats = distance(*rounded(folder, PrecisionMode::bf16), text);
    // 9e-2 is what activations of 8 bits may cost (6.5e-2 of plain rounding, and a margin).
    const bool bytes =
        std::string_view(name) != "dense-int8" || kernels::select("auto").bytes != nullptr;
    EXPECT_LT(off, floats + (bytes ? 9e-2 : 5e-3)) << name;
    EXPECT_NE(off, floats) << name << ": was it multiplied in integers?";
  }
}

// Mixture of experts: experts stored one by one are rounded. A choice between experts that are
// nearly alike may fall the other way, so that single rows move far: most rows keep their answer.
TEST(Rounded, ExpertsOneByOne) {
  const trace::Comparison off =
      compared(*rounded(kData + "models/moe-per-expert", PrecisionMode::int8),
               kData + "models/moe/cases/text-long.safetensors");
  RecordProperty("moe", fmt::format("{:.2g}", off.relative_l2));
  EXPECT_GT(off.relative_l2, 1e-3);
  EXPECT_LT(off.rows_with_other_argmax, off.rows / 4);
}

}  // namespace
}  // namespace sightline::generate
