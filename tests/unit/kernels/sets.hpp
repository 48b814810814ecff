// Shared ground of the kernel tests: every set that this machine runs as a test parameter (the
// others are skipped by name), a Compute with its pool and arena, seeded random data, and
// distances.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/compute.hpp"
#include "kernels/kernels.hpp"
#include "sightline/tensor.hpp"

namespace sightline::kernels {

/// The AVX-512 set over plain instructions (avx512_twin.cpp); null where it was not built, or where
/// this CPU lacks what the rest of it needs.
const Kernels* avx512_twin();
/// The same with products of integers as VNNI has them (avx512_vnni_twin.cpp): all else is alike.
const Kernels* avx512_vnni_twin();

class EverySet : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const SetInfo& set : list_sets()) {
      if (set.name == GetParam() && !set.available) {
        GTEST_SKIP() << "this CPU lacks " << set.needs << " for the set " << set.name;
      }
    }
  }
  const Kernels& set() const {
    for (const Kernels* twin : {avx512_twin(), avx512_vnni_twin()}) {
      if (twin != nullptr && GetParam() == name_of(*twin)) return *twin;
    }
    return select(GetParam());
  }
};

/// Not those with plain tiles, which are another set but for Precision::bf16 (tiles_test.cpp).
inline std::vector<std::string> set_names() {
  std::vector<std::string> names;
  for (const SetInfo& set : list_sets()) {
    if (!set.twin) names.emplace_back(set.name);
  }
  if (const Kernels* twin = avx512_twin()) names.emplace_back(name_of(*twin));
  return names;
}

/// Of a test: no dash.
inline std::string test_name(std::string set) {
  std::replace(set.begin(), set.end(), '-', '_');
  return set;
}

#define SIGHTLINE_EVERY_SET(fixture)                                  \
  INSTANTIATE_TEST_SUITE_P(, fixture, testing::ValuesIn(set_names()), \
                           [](const auto& info) { return test_name(info.param); })

/// A pool and scratch of one's own.
struct Machine {
  Threads threads;
  Arena arena;
  Compute compute;
  Machine(const Kernels& set, int count) : threads(count), compute{set, threads, arena} {}
};

/// Normal values, reproducible from the seed.
inline std::vector<float> random_values(std::int64_t n, unsigned seed, float scale = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(engine);
  return values;
}

/// |a − b| / |b| over all values.
template <class A, class B>
double relative_l2(const std::vector<A>& a, const std::vector<B>& b) {
  EXPECT_EQ(a.size(), b.size());
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double delta = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += delta * delta;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return norm == 0 ? std::sqrt(error) : std::sqrt(error / norm);
}

/// Bit equality, so that -0 and 0 differ and NaN equals itself.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace sightline::kernels
