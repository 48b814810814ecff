// Protects the mixture of experts: the router's choice (ties, weights, values that are no numbers),
// that a token's bits depend neither on its company nor on threads, that both layouts of a
// checkpoint are one model, that only chosen experts are read, and what a wrong checkpoint is told.
#include "qwen3_5/moe.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "io/json.hpp"
#include "qwen3_5/model.hpp"

namespace sightline::qwen3_5 {
namespace {

const std::string kModels = std::string(SIGHTLINE_TEST_DATA) + "/models/";

Config config_of(const std::string& name) {
  return parse_config(io::read_json_file(kModels + name + "/config.json"), "config.json");
}

std::vector<float> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(engine);
  return values;
}

/// A pass of one's own.
struct Machine {
  Threads threads;
  Arena arena;
  nn::Pass pass;
  explicit Machine(int count = 1, const char* set = "reference")
      : threads(count), pass(kernels::select(set), threads, arena) {
    pass.precision = nn::Precision::f32;
  }
};

/// The block of one layer of a small checkpoint, which it keeps open.
struct LoadedBlock {
  explicit LoadedBlock(const std::string& name, std::int64_t layer = 1)
      : config(config_of(name).text_config),
        checkpoint(io::Checkpoint::open(kModels + name)),
        block(SparseMoeBlock::load(
            io::Loader(checkpoint).at("model.language_model.layers").at(layer).at("mlp"), config)) {
  }
  std::vector<float> run(Machine& machine, const std::vector<float>& rows) const {
    const auto count = static_cast<std::int64_t>(rows.size()) / config.hidden_size;
    std::vector<float> y(rows.size());
    block(machine.pass, {rows.data(), count, config.hidden_size},
          {y.data(), count, config.hidden_size});
    return y;
  }
  TextConfig config;
  std::shared_ptr<const io::Checkpoint> checkpoint;
  SparseMoeBlock block;
};

std::vector<const char*> available_sets() {
  std::vector<const char*> names;
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    if (set.available && !set.twin) names.push_back(set.name.data());
  }
  return names;
}

nn::Routing choose(const std::vector<float>& logits, std::int64_t top_k) {
  return nn::choose_experts({logits.data(), 1, static_cast<std::int64_t>(logits.size())}, top_k);
}

// The reference leaves the order of equal probabilities open; ours is the lowest expert.
TEST(Routing, TiesGoToTheLowestExpert) {
  EXPECT_EQ(choose({1, 3, 3, 2, 3}, 2).experts, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(choose({1, 3, 3, 2, 3}, 4).experts, (std::vector<std::int32_t>{1, 2, 4, 3}));
  const nn::Routing equal = choose(std::vector<float>(8, 0.5F), 4);
  EXPECT_EQ(equal.experts, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(equal.weights, std::vector<float>(4, 0.25F));
}

// Softmax over all, the greatest, divided by their sum: which is not the softmax of anything less.
TEST(Routing, WeightsAreRenormalised) {
  const std::vector<float> logits = random_values(64, 7);
  const nn::Routing routing = choose(logits, 5);
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  double all = 0, chosen = 0, sum = 0;
  for (const float logit : logits) all += std::exp(static_cast<double>(logit));
  for (std::size_t k = 0; k < 5; ++k) chosen += std::exp(static_cast<double>(sorted[k])) / all;
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(logits[static_cast<std::size_t>(routing.experts[k])], sorted[k]);
    const double expected = std::exp(static_cast<double>(sorted[k])) / all / chosen;
    EXPECT_NEAR(routing.weights[k], expected, 2e-7 * expected);
    sum += static_cast<double>(routing.weights[k]);
  }
  EXPECT_NEAR(sum, 1.0, 3e-7);
}

// Whatever a broken checkpoint makes of the logits, no expert is read outside of the model.
TEST(Routing, ChoicesAreValidForAnyLogits) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan, nan},
                                           {nan, 1, nan, 2},
                                           {1, 2, nan, nan},
                                           {inf, inf, 0, -inf},
                                           {-inf, -inf, -inf, -inf},
                                           {1e38F, -1e38F, 1e38F, 0}}) {
    const nn::Routing routing = choose(logits, 3);
    const std::set<std::int32_t> different(routing.experts.begin(), routing.experts.end());
    EXPECT_EQ(different.size(), 3U);
    EXPECT_GE(*different.begin(), 0);
    EXPECT_LT(*different.rbegin(), 4);
  }
}

// Every choice reaches its expert once, rows in ascending order.
TEST(Routing, GroupsHoldEveryChoiceOnce) {
  const std::vector<float> logits = random_values(50 * 16, 3);
  const nn::Routing routing = nn::choose_experts({logits.data(), 50, 16}, 3);
  std::size_t choices = 0;
  std::int64_t last = -1;
  for (const nn::ExpertGroup& group : nn::group_by_expert(routing, 16)) {
    EXPECT_GT(group.expert, last);
    last = group.expert;
    EXPECT_TRUE(std::is_sorted(group.rows.begin(), group.rows.end()));
    for (std::size_t i = 0; i < group.rows.size(); ++i, ++choices) {
      const auto first = routing.experts.begin() + static_cast<std::ptrdiff_t>(group.rows[i] * 3);
      const auto place = std::find(first, first + 3, group.expert);
      ASSERT_NE(place, first + 3);
      EXPECT_EQ(group.weights[i],
                routing.weights[static_cast<std::size_t>(place - routing.experts.begin())]);
    }
  }
  EXPECT_EQ(choices, 150U);
}

// Where work is only counted, the choices spread evenly.
TEST(Routing, CountedRowsSpreadEvenly) {
  const auto groups = nn::group_by_expert(nn::even_routing(80, 256, 8), 256);
  EXPECT_EQ(groups.size(), 256U);
  for (const nn::ExpertGroup& group : groups) EXPECT_NEAR(group.rows.size(), 2.5, 0.5);
}

// The whole block bit for bit: rows alone, in pieces, in another order, with any number of threads.
TEST(SparseMoeBlock, CompanyAndThreadsChangeNoBit) {
  const LoadedBlock loaded("moe");
  const std::int64_t rows = 70, width = loaded.config.hidden_size;
  const std::vector<float> x = random_values(rows * width, 11);
  const auto row_of = [&](const std::vector<float>& values, std::int64_t r, std::int64_t count) {
    return std::vector<float>(values.begin() + r * width, values.begin() + (r + count) * width);
  };
  for (const char* set : available_sets()) {
    Machine one(1, set);
    const std::vector<float> expected = loaded.run(one, x);
    for (const int threads : {1, 2, 3, 7}) {
      Machine machine(threads, set);
      EXPECT_EQ(loaded.run(machine, x), expected) << set << " threads " << threads;
      for (const std::int64_t piece : {1, 7, 64}) {
        for (std::int64_t r = 0; r < rows; r += piece) {
          const std::int64_t count = std::min(piece, rows - r);
          ASSERT_EQ(loaded.run(machine, row_of(x, r, count)), row_of(expected, r, count))
              << set << " threads " << threads << " piece " << piece << " row " << r;
        }
      }
    }
    std::vector<float> turned, expected_turned;
    for (std::int64_t r = rows; r-- > 0;) {
      const auto row = row_of(x, r, 1), result = row_of(expected, r, 1);
      turned.insert(turned.end(), row.begin(), row.end());
      expected_turned.insert(expected_turned.end(), result.begin(), result.end());
    }
    EXPECT_EQ(loaded.run(one, turned), expected_turned) << set;
  }
}

TEST(SparseMoeBlock, BothLayoutsAreOneModel) {
  const LoadedBlock fused("moe"), one_by_one("moe-per-expert");
  const std::vector<float> x = random_values(20 * fused.config.hidden_size, 5);
  Machine machine(2);
  EXPECT_EQ(fused.run(machine, x), one_by_one.run(machine, x));
}

/// Experts of float32 weights in memory of the caller: gate, up and down of one after the other.
Experts experts_at(const float* data, std::int64_t count, std::int64_t hidden, std::int64_t width) {
  Experts experts;
  const auto next = [&](std::int64_t out, std::int64_t in) {
    const Weight weight{DType::f32, out, in, reinterpret_cast<const std::byte*>(data)};
    data += out * in;
    return weight;
  };
  for (std::int64_t e = 0; e < count; ++e) {
    const Weight gate = next(width, hidden), up = next(width, hidden), down = next(hidden, width);
    experts.experts.push_back({gate, up, down});
  }
  return experts;
}

// Against the formula in double precision, one row and one expert at a time.
TEST(Experts, AddUpWhatTheFormulaSays) {
  constexpr std::int64_t kCount = 6, kHidden = 24, kWidth = 10, kRows = 9;
  const std::vector<float> weights = random_values(kCount * 3 * kHidden * kWidth, 1);
  const std::vector<float> x = random_values(kRows * kHidden, 2),
                           logits = random_values(kRows * kCount, 3);
  const Experts experts = experts_at(weights.data(), kCount, kHidden, kWidth);
  const nn::Routing routing = nn::choose_experts({logits.data(), kRows, kCount}, 3);
  std::vector<float> y(x.size(), -1.0F);  // whatever was there is overwritten
  Machine machine;
  experts(machine.pass, {x.data(), kRows, kHidden}, routing, {y.data(), kRows, kHidden});
  for (std::int64_t r = 0; r < kRows; ++r) {
    std::vector<double> sum(kHidden), size(kHidden);
    for (std::int64_t k = 0; k < 3; ++k) {
      const auto place = static_cast<std::size_t>(r * 3 + k);
      const float* gate = weights.data() + routing.experts[place] * 3 * kHidden * kWidth;
      const float *up = gate + kWidth * kHidden, *down = up + kWidth * kHidden;
      for (std::int64_t i = 0; i < kWidth; ++i) {
        double g = 0, u = 0;
        for (std::int64_t h = 0; h < kHidden; ++h) {
          const auto value = static_cast<double>(x[static_cast<std::size_t>(r * kHidden + h)]);
          g += static_cast<double>(gate[i * kHidden + h]) * value;
          u += static_cast<double>(up[i * kHidden + h]) * value;
        }
        const double inner = g / (1 + std::exp(-g)) * u;
        for (std::int64_t h = 0; h < kHidden; ++h) {
          const double part = static_cast<double>(routing.weights[place]) * inner *
                              static_cast<double>(down[h * kWidth + i]);
          sum[static_cast<std::size_t>(h)] += part;
          size[static_cast<std::size_t>(h)] += std::abs(part);
        }
      }
    }
    for (std::int64_t h = 0; h < kHidden; ++h) {
      const auto at = static_cast<std::size_t>(h);
      EXPECT_NEAR(y[static_cast<std::size_t>(r * kHidden + h)], sum[at], 2e-6 * size[at]);
    }
  }
}

/// Zeroed pages that count as resident only once they have been read.
class FreshPages {
 public:
  explicit FreshPages(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ != MAP_FAILED) ::madvise(data_, bytes_, MADV_NOHUGEPAGE);
  }
  ~FreshPages() { ::munmap(data_, bytes_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  [[nodiscard]] const float* data() const { return static_cast<const float*>(data_); }
  [[nodiscard]] std::int64_t resident(std::int64_t begin, std::int64_t bytes) const {
    const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(static_cast<std::size_t>(bytes / page));
    EXPECT_EQ(::mincore(static_cast<std::byte*>(data_) + begin, static_cast<std::size_t>(bytes),
                        pages.data()),
              0);
    return std::count_if(pages.begin(), pages.end(),
                         [](unsigned char flags) { return (flags & 1) != 0; }) *
           page;
  }

 private:
  std::size_t bytes_;
  void* data_;
};

// A model larger than memory answers because experts that no token goes to are never read.
TEST(Experts, OnlyChosenExpertsAreRead) {
  constexpr std::int64_t kCount = 16, kHidden = 64, kWidth = 64;
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::int64_t kBytes = 3 * kHidden * kWidth * static_cast<std::int64_t>(sizeof(float));
  if (kBytes % page != 0) GTEST_SKIP() << "experts of this test end inside of a page";
  for (const char* set : available_sets()) {
    const FreshPages pages(kCount * kBytes);
    const Experts experts = experts_at(pages.data(), kCount, kHidden, kWidth);
    const std::vector<float> x = random_values(3 * kHidden, 4);
    nn::Routing routing{3, 2, {3, 9, 9, 12, 3, 12}, std::vector<float>(6, 0.5F)};
    std::vector<float> y(x.size());
    Machine machine(2, set);
    experts(machine.pass, {x.data(), 3, kHidden}, routing, {y.data(), 3, kHidden});
    for (std::int64_t e = 0; e < kCount; ++e) {
      const bool chosen = e == 3 || e == 9 || e == 12;
      EXPECT_EQ(pages.resident(e * kBytes, kBytes), chosen ? kBytes : 0) << set << " expert " << e;
    }
  }
}

// Scratch does not grow with the number of experts: far below tokens · experts · width.
TEST(Experts, ScratchIsThatOfOneExpert) {
  constexpr std::int64_t kCount = 64, kHidden = 16, kWidth = 32, kRows = 512;
  const std::vector<float> weights(kCount * 3 * kHidden * kWidth);
  const std::vector<float> x = random_values(kRows * kHidden, 6),
                           logits = random_values(kRows * kCount, 8);
  const Experts experts = experts_at(weights.data(), kCount, kHidden, kWidth);
  Machine machine;
  std::vector<float> y(x.size());
  experts(machine.pass, {x.data(), kRows, kHidden},
          nn::choose_experts({logits.data(), kRows, kCount}, 4), {y.data(), kRows, kHidden});
  EXPECT_LE(machine.arena.peak_bytes(),
            kRows * (kHidden + 2 * kWidth) * sizeof(float) + 3 * Arena::kAlignment);
}

TEST(Experts, CancellationStopsBetweenExperts) {
  const std::vector<float> weights = random_values(4 * 3 * 8 * 8, 9), x = random_values(8, 10);
  const Experts experts = experts_at(weights.data(), 4, 8, 8);
  Machine machine;
  const std::atomic<bool> cancel{true};
  machine.pass.cancel = &cancel;
  std::vector<float> y(x.size());
  const nn::Routing routing{1, 2, {0, 1}, {0.5F, 0.5F}};
  try {
    experts(machine.pass, {x.data(), 1, 8}, routing, {y.data(), 1, 8});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

}  // namespace
}  // namespace sightline::qwen3_5
