// Protects quantised checkpoints: every format, packed by its own library, gives the logits that
// transformers gives in float32 for the weights that this library reads back; with every kernel
// set, in one piece and in small ones.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "gtest/gtest.h"
#include "kernels/kernels.hpp"

namespace sightline::generate {
namespace {

const std::string kFolder = std::string(SIGHTLINE_TEST_DATA) + "/quantised/";

struct Format {
  const char* name;
  const char* stored;   // how most of its weights are, in the load report
  std::int64_t packed;  // weights
};
constexpr Format kFormats[] = {
    {"moe-fp8", "float8_e4m3, blocks of 32 x 32", 61},
    {"dense-gptq", "int4, groups of 32, zero points", 13},  // act order
    {"dense-gptq-v2", "int4, groups of 32, zero points", 13},
    {"dense-awq", "int4, groups of 32, zero points", 13},
    {"dense-int4", "int4, groups of 32, zero points", 13},
    {"dense-int8", "int8, one scale a row", 13},
    {"dense-fp8-channel", "float8_e4m3, one scale a row", 13},
};

struct FormatOfSet {
  Format format;
  std::string set;
};

std::vector<FormatOfSet> all() {
  std::vector<FormatOfSet> all;
  for (const auto& set : kernels::list_sets()) {
    if (set.twin) continue;
    for (const Format& format : kFormats) all.push_back({format, std::string(set.name)});
  }
  return all;
}

const model::VisionLanguageModel& loaded(const std::string& name) {
  static std::map<std::string, std::unique_ptr<model::VisionLanguageModel>> models;
  auto& model = models[name];
  if (!model) model = load_model(kFolder + name, true);
  return *model;
}

class Quantised : public ::testing::TestWithParam<FormatOfSet> {
 protected:
  void SetUp() override {
    for (const auto& set : kernels::list_sets()) {
      if (set.name == GetParam().set && !set.available)
        GTEST_SKIP() << "this CPU lacks the kernel set " << set.name;
    }
  }
};

TEST_P(Quantised, LogitsAreThoseOfTheWeightsReadBack) {
  const std::string name = GetParam().format.name;
  const model::VisionLanguageModel& model = loaded(name);
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select(GetParam().set), threads, arena);
  pass.precision = nn::Precision::f32;
  const ReferenceCase reference =
      ReferenceCase::read(kFolder + name + "/text.safetensors", model.info());
  // The bounds of the checkpoints that they were made of (parity_test.cpp).
  const double bound = name == "moe-fp8" ? 5e-5 : 1e-4;
  for (const auto& [piece, kind] : {std::pair{0, model::RowKind::prompt},
                                    {7, model::RowKind::prompt},
                                    {1, model::RowKind::step}}) {
    const ParityReport report = run_parity(model, pass, reference, {bound, piece, kind});
    for (const ParityCheck& check : report.checks) {
      EXPECT_TRUE(check.ok) << name << ", pieces of " << piece << ": " << check.kind << " "
                            << check.value.value_or(-1);
      if (check.kind == "logits")
        RecordProperty(fmt::format("logits_{}", piece), fmt::format("{:.2g}", *check.value));
    }
  }
}

TEST_P(Quantised, TheLoadReportSaysHowEveryWeightIsStored) {
  const io::LoadReport& report = loaded(GetParam().format.name).info().report;
  std::int64_t packed = 0;
  for (const io::ClaimedTensor& tensor : report.tensors) {
    if (!tensor.packed_parameters) {
      EXPECT_FALSE(tensor.stored.empty()) << tensor.name;
    } else if (!tensor.stored.empty()) {
      EXPECT_EQ(tensor.stored, GetParam().format.stored) << tensor.name;
      EXPECT_GT(*tensor.packed_parameters, 0) << tensor.name;
      ++packed;
    }
  }
  EXPECT_EQ(packed, GetParam().format.packed);
}

INSTANTIATE_TEST_SUITE_P(, Quantised, ::testing::ValuesIn(all()), [](const auto& info) {
  std::string name = info.param.set + "_" + info.param.format.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace sightline::generate
