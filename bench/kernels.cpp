// Benchmarks of the kernels at shapes of real checkpoints, each as a rate and as a share of what
// this machine can do: the peak of fused multiply-add on the threads in use, or the rate at which
// they read memory. Both are measured first. Run: build/<folder>/bench_kernels
// --benchmark_filter=...; the kernel set is SIGHTLINE_ISA's, or the best.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/attention.hpp"
#include "kernels/bidirectional_attention.hpp"
#include "kernels/delta_rule.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/machine_limits.hpp"
#include "kernels/matmul.hpp"
#include "tensor/integer_form.hpp"
#include "tensor/quantise.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sightline::kernels {
namespace {

const Kernels& the_set() {
  const char* name = std::getenv("SIGHTLINE_ISA");
  return select(name != nullptr ? name : "");
}

struct Machine {
  Threads threads;
  Arena arena;
  Compute compute;
  /// Precision::bf16: a set with tile registers uses them.
  explicit Machine(int count)
      : threads(count), compute{the_set(), threads, arena, nullptr, nullptr, Precision::bf16} {}
};

/// Seconds on the clock, and seconds that this process's threads really ran: the second is what a
/// rate per core is taken from, so that a busy machine does not look like a slow kernel.
class Stopwatch {
 public:
  [[nodiscard]] double wall() const { return now(CLOCK_MONOTONIC) - wall_; }
  [[nodiscard]] double cpu() const { return now(CLOCK_PROCESS_CPUTIME_ID) - cpu_; }

 private:
  static double now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  double wall_ = now(CLOCK_MONOTONIC), cpu_ = now(CLOCK_PROCESS_CPUTIME_ID);
};

/// Fewest seconds of CPU time that `work` took in several runs.
double cpu_seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.cpu());
  }
  return best;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float fma_loop(std::int64_t steps) {
  __m256 a[12];
  for (auto& x : a) x = _mm256_set1_ps(1.0F);
  const __m256 b = _mm256_set1_ps(0.999F);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (auto& x : a) x = _mm256_fmadd_ps(x, b, b);
  }
  float sum = 0;
  for (const auto& x : a) sum += _mm256_cvtss_f32(x);
  return sum;
}
constexpr double kLoopFlops = 12 * 8 * 2;
#else
float fma_loop(std::int64_t steps) {
  float a = 1;
  for (std::int64_t i = 0; i < steps; ++i) a = a * 0.999F + 0.999F;
  return a;
}
constexpr double kLoopFlops = 2;
#endif

/// Peak GFLOP per second of one core: 256-bit fused multiply-add, or tile products.
double peak_gflops() {
  static const double peak = [] {
    Machine machine(1);
    if (const MachineLimits limits = measure_limits(machine.compute); limits.tiles)
      return limits.flops * 1e-9;
    constexpr std::int64_t kSteps = 4'000'000;
    return kLoopFlops * kSteps * 1e-9 /
           cpu_seconds_of([&] { benchmark::DoNotOptimize(fma_loop(kSteps)); });
  }();
  return peak;
}

/// GB that one core reads in a second from memory that no cache holds.
double read_bandwidth() {
  static const double bandwidth = [] {
    const std::vector<std::uint64_t> memory(std::size_t{1} << 26, 1);  // 512 MiB
    return static_cast<double>(memory.size()) * 8e-9 / cpu_seconds_of([&] {
             std::uint64_t sums[8] = {};
             for (std::size_t i = 0; i < memory.size(); i += 8) {
               for (std::size_t s = 0; s < 8; ++s) sums[s] += memory[i + s];
             }
             benchmark::DoNotOptimize(sums);
           });
  }();
  return bandwidth;
}

std::vector<float> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(engine);
  return values;
}

std::vector<bf16> random_weights(std::int64_t n) {
  std::vector<bf16> values(static_cast<std::size_t>(n));
  std::uint32_t state = 1;
  for (bf16& value : values) {
    state = state * 1664525U + 1013904223U;
    value = to_bf16(static_cast<float>(state >> 8) * 0x1p-24F - 0.5F);
  }
  return values;
}

/// Rates of the whole loop: on the clock, and per CPU second as a share of what a core can do.
void report(benchmark::State& state, const Stopwatch& watch, double flops) {
  const double wall = watch.wall(), cpu = watch.cpu();
  const double total = flops * static_cast<double>(state.iterations()) * 1e-9;
  state.counters["GFLOP/s"] = total / wall;
  state.counters["per_core"] = total / cpu;
  state.counters["of_peak"] = total / cpu / peak_gflops();
}

void report_bytes(benchmark::State& state, const Stopwatch& watch, double bytes) {
  const double wall = watch.wall(), cpu = watch.cpu();
  const double total = bytes * static_cast<double>(state.iterations()) * 1e-9;
  state.counters["GB/s"] = total / wall;
  state.counters["per_core"] = total / cpu;
  state.counters["of_read"] = total / cpu / read_bandwidth();
}

/// A stored matrix as it is (bits 16), or rounded to 8 or 4 bits and in integer form.
Weight weight_of(const bf16* values, std::int64_t out, std::int64_t in, std::int64_t bits) {
  const Weight stored{DType::bf16, out, in, reinterpret_cast<const std::byte*>(values)};
  if (bits == 16) return stored;
  Threads threads(2);
  const auto packed = round_weight(stored, *rounding_for(static_cast<int>(bits), in), threads);
  add_integer_form(*packed);
  return {DType::f32, out, in, nullptr, packed};
}

/// Arguments: rows, in, out, bits of a weight, threads.
void matmul_many(benchmark::State& state) {
  const std::int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const int threads = static_cast<int>(state.range(4));
  Machine machine(threads);
  const auto x = random_values(rows * in, 1);
  const auto w = random_weights(out * in);
  std::vector<float> y(static_cast<std::size_t>(rows * out));
  const Weight weight = weight_of(w.data(), out, in, state.range(3));
  const Stopwatch watch;
  for (auto _ : state) {
    matmul(machine.compute, ConstView(x.data(), rows, in), weight, nullptr,
           View(y.data(), rows, out));
    benchmark::ClobberMemory();
  }
  report(state, watch, 2.0 * static_cast<double>(rows * in * out));
}

/// One row against several matrices in turn, together larger than any cache. Arguments: in, out,
/// bits of a weight, threads.
void matmul_one(benchmark::State& state) {
  const std::int64_t in = state.range(0), out = state.range(1);
  const int threads = static_cast<int>(state.range(3));
  Machine machine(threads);
  const std::int64_t copies = std::max<std::int64_t>(1, (std::int64_t{400} << 20) / (in * out * 2));
  const auto x = random_values(in, 1);
  const auto w = random_weights(copies * out * in);
  std::vector<float> y(static_cast<std::size_t>(out));
  std::vector<Weight> weights;
  for (std::int64_t i = 0; i < copies; ++i)
    weights.push_back(weight_of(w.data() + i * in * out, out, in, state.range(2)));
  std::size_t next = 0;
  const Stopwatch watch;
  for (auto _ : state) {
    matmul(machine.compute, ConstView(x.data(), 1, in), weights[next], nullptr,
           View(y.data(), 1, out));
    benchmark::ClobberMemory();
    next = (next + 1) % weights.size();
  }
  report_bytes(state, watch, static_cast<double>(weights[0].bytes()));
}

/// Arguments: rows, positions before them, heads, kv heads, head_dim, threads.
void attention_rows(benchmark::State& state) {
  const std::int64_t rows = state.range(0), before = state.range(1);
  const AttentionShape shape{state.range(2), state.range(3), state.range(4), 0.06F};
  const int threads = static_cast<int>(state.range(5));
  Machine machine(threads);
  const std::int64_t length = before + rows;
  const std::int64_t block_values = kKvBlock * shape.kv_heads * shape.head_dim;
  const std::int64_t blocks = (length + kKvBlock - 1) / kKvBlock;
  const auto k = random_weights(blocks * block_values);
  const auto v = random_weights(blocks * block_values);
  std::vector<const std::byte*> keys, values;
  for (std::int64_t b = 0; b < blocks; ++b) {
    keys.push_back(reinterpret_cast<const std::byte*>(k.data() + b * block_values));
    values.push_back(reinterpret_cast<const std::byte*>(v.data() + b * block_values));
  }
  const auto q = random_values(rows * shape.heads * shape.head_dim, 2);
  std::vector<float> out(q.size());
  const KvBlocks kv{keys.data(), values.data(), DType::bf16, length};
  const Stopwatch watch;
  for (auto _ : state) {
    attention(machine.compute, shape, ConstView(q.data(), rows, shape.heads * shape.head_dim),
              before, kv, View(out.data(), rows, shape.heads * shape.head_dim));
    benchmark::ClobberMemory();
  }
  const double seen = static_cast<double>(before) + static_cast<double>(rows + 1) / 2;
  report(state, watch, 4.0 * static_cast<double>(rows * shape.heads * shape.head_dim) * seen);
}

/// Arguments: rows (all see each other), heads, head_dim, threads.
void picture_attention(benchmark::State& state) {
  const std::int64_t rows = state.range(0), heads = state.range(1), width = heads * state.range(2);
  Machine machine(static_cast<int>(state.range(3)));
  const auto all = random_values(rows * 3 * width, 1);
  const ConstView qkv(all.data(), rows, 3 * width);
  std::vector<float> out(static_cast<std::size_t>(rows * width));
  const Stopwatch watch;
  for (auto _ : state) {
    bidirectional_attention(machine.compute, heads, 0.1F, qkv.slice_cols(0, width),
                            qkv.slice_cols(width, width), qkv.slice_cols(2 * width, width),
                            View(out.data(), rows, width));
    benchmark::ClobberMemory();
  }
  report(state, watch, 4.0 * static_cast<double>(rows * width) * static_cast<double>(rows));
}

/// Arguments: rows, value heads, chunked, threads. 16 key heads of width 128.
void delta_rule(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  const DeltaShape shape{16, state.range(1), 128, 128};
  const int threads = static_cast<int>(state.range(3));
  Machine machine(threads);
  const std::int64_t heads = shape.value_heads;
  const auto q = random_values(rows * 2048, 1), k = random_values(rows * 2048, 2),
             v = random_values(rows * heads * 128, 3);
  const std::vector<float> beta(static_cast<std::size_t>(rows * heads), 0.5F),
      decay(beta.size(), -0.1F);
  std::vector<float> memory(static_cast<std::size_t>(heads * 128 * 128)), out(v.size());
  const DeltaOperands in{ConstView(q.data(), rows, 2048), ConstView(k.data(), rows, 2048),
                         ConstView(v.data(), rows, heads * 128),
                         ConstView(beta.data(), rows, heads), ConstView(decay.data(), rows, heads)};
  const View y(out.data(), rows, heads * 128);
  const Stopwatch watch;
  for (auto _ : state) {
    if (state.range(2) != 0) {
      delta_rule_chunked(machine.compute, shape, in, 0, memory.data(), y);
    } else {
      delta_rule_recurrent(machine.compute, shape, in, memory.data(), true, y);
    }
    benchmark::ClobberMemory();
  }
  report(state, watch, 6.0 * 128 * 128 * static_cast<double>(rows * heads));  // of the recurrence
}

/// Arguments: which, rows, cols, threads.
void rows_of(benchmark::State& state) {
  const std::int64_t rows = state.range(1), cols = state.range(2);
  const int threads = static_cast<int>(state.range(3));
  Machine machine(threads);
  auto x = random_values(rows * cols, 1);
  const auto g = random_values(rows * cols, 2);
  std::vector<float> out(x.size());
  const ConstView a(x.data(), rows, cols), b(g.data(), rows, cols);
  const View y(out.data(), rows, cols);
  const Stopwatch watch;
  for (auto _ : state) {
    switch (state.range(0)) {
      case 0:
        rms_norm(machine.compute, a, g.data(), 1, 1e-6F, y);
        break;
      case 1:
        layer_norm(machine.compute, a, g.data(), g.data(), 1e-6F, y);
        break;
      case 2:
        silu_mul(machine.compute, a, b, y);
        break;
      case 3:
        gelu_tanh(machine.compute, a, y);
        break;
      case 4:
        gelu_erf(machine.compute, a, y);
        break;
      default:
        add(machine.compute, a, b, y);
        break;
    }
    benchmark::ClobberMemory();
  }
  constexpr const char* kNames[] = {"rms_norm",  "layer_norm", "silu_mul",
                                    "gelu_tanh", "gelu_erf",   "add"};
  state.SetLabel(kNames[state.range(0)]);
  state.counters["Gvalues/s/core"] = static_cast<double>(rows * cols) *
                                     static_cast<double>(state.iterations()) * 1e-9 / watch.cpu();
}

BENCHMARK(matmul_many)
    ->ArgNames({"rows", "in", "out", "bits", "threads"})
    ->ArgsProduct({{4, 80, 512}, {1024}, {3584}, {16, 8, 4}, {1, 2}})
    ->ArgsProduct({{512}, {3584}, {1024}, {16, 8, 4}, {1, 2}})
    ->ArgsProduct({{512}, {2048}, {6144}, {16}, {1, 2}})
    ->UseRealTime();
BENCHMARK(matmul_one)
    ->ArgNames({"in", "out", "bits", "threads"})
    ->ArgsProduct({{1024}, {3584}, {16, 8, 4}, {1, 2}})
    ->ArgsProduct({{6144}, {2048}, {16, 8, 4}, {1, 2}})
    ->UseRealTime();
BENCHMARK(attention_rows)
    ->ArgNames({"rows", "before", "heads", "kv", "dim", "threads"})
    ->Args({512, 0, 8, 2, 256, 1})
    ->Args({512, 2048, 8, 2, 256, 1})
    ->Args({1, 2048, 8, 2, 256, 1})
    ->UseRealTime();
BENCHMARK(picture_attention)
    ->ArgNames({"rows", "heads", "dim", "threads"})
    ->Args({1200, 12, 64, 1})
    ->Args({1200, 12, 64, 2})
    ->Args({1200, 16, 72, 2})
    ->UseRealTime();
BENCHMARK(delta_rule)
    ->ArgNames({"rows", "heads", "chunked", "threads"})
    ->Args({512, 16, 1, 1})
    ->Args({512, 16, 1, 2})
    ->Args({512, 16, 0, 1})
    ->Args({1, 16, 0, 1})
    ->UseRealTime();
BENCHMARK(rows_of)
    ->ArgNames({"op", "rows", "cols", "threads"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {512}, {1024}, {1}})
    ->UseRealTime();

}  // namespace
}  // namespace sightline::kernels
