// What a module call costs when nobody watches: one Span with an input, a note and an output. The
// share of a token's time is a test (tests/unit/audit/span_cost_test.cpp). Run:
// build/<folder>/bench_span.
#include <benchmark/benchmark.h>

#include <array>

#include "nn/pass.hpp"

namespace sightline::nn {
namespace {

void null_span(benchmark::State& state) {
  Threads threads(1);
  Arena arena;
  Pass pass(kernels::select("reference"), threads, arena);
  const Site site{0, "model", "Model"};
  std::array<float, 4> values{};
  const View view{values.data(), 2, 2};
  for (auto _ : state) {
    Span span{pass, site, Where::current()};
    span.in("x", view);
    span.note("inner", view);
    span.out(view);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(null_span);

}  // namespace
}  // namespace sightline::nn
