// Protects the one claim that everything rests on: the engine computes what transformers computes.
// Every module, logit and greedy token of the reference runs, with every kernel set of this
// machine, in one piece and in small ones.
#include "generate/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generate/load_model.hpp"
#include "gtest/gtest.h"
#include "sightline/error.hpp"

namespace sightline::generate {
namespace {

const std::string kModels = std::string(SIGHTLINE_TEST_DATA) + "/models/";

struct Checkpoint {
  const char* name;
  double logits;                // bound of logits, as a share of the greatest
  const char* cases = nullptr;  // checkpoint whose cases these are, if not its own
};
// The reference's own noise (float32 against float64) is 2.5e-5 for the odd small heads and 3e-6
// for the published ones.
constexpr Checkpoint kDense{"dense", 1e-4}, kDenseWide{"dense-wide", 3e-5};
// moe-per-expert holds the weights of moe, every expert by itself.
constexpr Checkpoint kMoe{"moe", 5e-5}, kMoePerExpert{"moe-per-expert", 5e-5, "moe"};
constexpr Checkpoint kQwen3Vl{"qwen3vl", 3e-5}, kQwen3VlMoe{"qwen3vl-moe", 3e-5};

struct CaseOfSet {
  Checkpoint checkpoint;
  std::string name, set;

  [[nodiscard]] std::string cases() const {
    return checkpoint.cases != nullptr ? checkpoint.cases : checkpoint.name;
  }
};

std::vector<CaseOfSet> cases() {
  std::vector<CaseOfSet> cases;
  for (const auto& set : kernels::list_sets()) {
    if (set.twin) continue;
    const auto add = [&](const Checkpoint& checkpoint, std::initializer_list<const char*> names) {
      for (const char* name : names) cases.push_back({checkpoint, name, std::string(set.name)});
    };
    for (const Checkpoint& checkpoint :
         {kDense, kDenseWide, kMoe, kMoePerExpert, kQwen3Vl, kQwen3VlMoe})
      add(checkpoint, {"text", "text-long", "image", "two-images", "video", "mixed"});
  }
  return cases;
}

bool is_available(std::string_view name) {
  for (const auto& set : kernels::list_sets()) {
    if (set.name == name) return set.available;
  }
  return false;
}

// Models are loaded once.
const model::VisionLanguageModel& loaded(const std::string& name) {
  static std::map<std::string, std::unique_ptr<model::VisionLanguageModel>> models;
  auto& model = models[name];
  if (!model) model = load_model(kModels + name, true);
  return *model;
}

std::string failures(const ParityReport& report) {
  std::string text;
  for (const ParityCheck& check : report.checks) {
    if (check.ok) continue;
    text += fmt::format("{} {}: {} (bound {:g}) {}\n", check.kind, check.name,
                        check.value ? fmt::format("{:.3g}", *check.value) : "none", check.bound,
                        check.detail);
  }
  return text;
}

class Parity : public ::testing::TestWithParam<CaseOfSet> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam().set))
      GTEST_SKIP() << "this CPU lacks the kernel set " << GetParam().set;
  }
  ParityReport report(std::int64_t piece, model::RowKind kind = model::RowKind::prompt) {
    const CaseOfSet& run = GetParam();
    const model::VisionLanguageModel& model = loaded(run.checkpoint.name);
    Threads threads(2);
    Arena arena;
    nn::Pass pass(kernels::select(run.set), threads, arena);
    pass.precision = nn::Precision::f32;
    const ReferenceCase reference = ReferenceCase::read(
        fmt::format("{}{}/cases/{}.safetensors", kModels, run.cases(), run.name), model.info());
    return run_parity(model, pass, reference, {run.checkpoint.logits, piece, kind});
  }
};

TEST_P(Parity, InOnePiece) {
  const ParityReport result = report(0);
  EXPECT_TRUE(result.ok) << "first: " << result.first_divergent.value_or("none") << "\n"
                         << failures(result);
  const auto count = [&](const char* kind) {
    return std::count_if(result.checks.begin(), result.checks.end(),
                         [&](const ParityCheck& check) { return check.kind == kind; });
  };
  for (const char* kind : {"token_types", "positions", "rope_delta", "logits", "greedy"})
    EXPECT_EQ(count(kind), 1) << kind;
  if (GetParam().name == "image") {
    EXPECT_GT(count("module"), 80);
  }
}

TEST_P(Parity, InPiecesOfSeven) {
  const ParityReport result = report(7);
  EXPECT_TRUE(result.ok) << failures(result);
}

TEST_P(Parity, TokenByToken) {
  for (const model::RowKind kind : {model::RowKind::prompt, model::RowKind::step}) {
    const ParityReport result = report(1, kind);
    EXPECT_TRUE(result.ok) << failures(result);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Parity, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name =
      fmt::format("{}_{}_{}", info.param.set, info.param.checkpoint.name, info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace sightline::generate
