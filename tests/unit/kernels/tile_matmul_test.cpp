// Protects matrix products in Precision::bf16 with a set that has tile registers: which products
// take them, that they are near the reference set's at every size, and that a row's bits depend on
// that row alone. Every machine runs the loops with plain registers; one with AMX its own too.
#include "kernels/tile_matmul.hpp"

#include "kernels/matmul.hpp"
#include "kernels/tiles.hpp"
#include "unit/kernels/sets.hpp"

namespace sightline::kernels {
namespace {

/// A bfloat16 weight that begins at an odd address, and rows with something else between them.
struct Problem {
  std::int64_t rows, in, out;
  std::vector<float> x, bias;
  std::vector<std::byte> stored;

  Problem(std::int64_t rows_, std::int64_t in_, std::int64_t out_)
      : rows(rows_),
        in(in_),
        out(out_),
        x(random_values(rows * stride(), 7)),
        bias(random_values(out, 8)),
        stored(static_cast<std::size_t>(1 + 2 * in * out)) {
    const std::vector<float> weights = random_values(in * out, 9, 0.5F);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const bf16 value = to_bf16(weights[i]);
      std::memcpy(stored.data() + 1 + 2 * i, &value, sizeof value);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = in; k < stride(); ++k)
        x[static_cast<std::size_t>(r * stride() + k)] = NAN;
    }
  }
  [[nodiscard]] std::int64_t stride() const { return in + 3; }
  [[nodiscard]] Weight weight() const { return {DType::bf16, out, in, stored.data() + 1}; }
  void round() {
    for (float& value : x) value = widen(to_bf16(value));
  }

  /// Dense rows [first, first + count) of the product.
  [[nodiscard]] std::vector<float> product(const Kernels& set, Precision precision, int threads,
                                           std::int64_t first, std::int64_t count) const {
    Machine machine(set, threads);
    machine.compute.precision = precision;
    std::vector<float> y(static_cast<std::size_t>(count * out));
    matmul(machine.compute, ConstView(x.data() + first * stride(), count, in, stride()), weight(),
           bias.data(), View(y.data(), count, out));
    return y;
  }
};

class TileMatmul : public EverySet {
 protected:
  [[nodiscard]] std::vector<float> product(const Problem& p, int threads, std::int64_t first,
                                           std::int64_t count) const {
    return p.product(set(), Precision::bf16, threads, first, count);
  }
  [[nodiscard]] std::vector<float> product(const Problem& p) const {
    return product(p, 2, 0, p.rows);
  }
};

// Each element within what its roundings can do, of the magnitudes that are added up: 16 fused
// steps and a sum for a tile, one sum for every tile, the bias (2^-24 each), and the reference's
// own one rounding to float32 and its bias. In pairs, up to 200 columns: 14 fused steps, four sums,
// the bias.
TEST_P(TileMatmul, IsNearTheReferenceSetAtEverySize) {
  std::mt19937 engine(3);
  for (int i = 0; i < 400; ++i) {
    // Every number of rows and of outputs is met, and every width up to 200.
    const std::int64_t rows = 1 + i % 40, out = 1 + i % 70,
                       in = i < 200 ? 1 + i : 1 + static_cast<std::int64_t>(engine() % 200);
    Problem p(rows, in, out);
    const auto found = product(p);
    p.round();
    Problem magnitudes = p;
    for (float& value : magnitudes.x) value = std::abs(value);
    for (float& value : magnitudes.bias) value = std::abs(value);
    for (std::size_t k = 2; k < magnitudes.stored.size(); k += 2)
      magnitudes.stored[k] &= std::byte{0x7f};  // the sign
    const Kernels& reference = select("reference");
    const auto expected = p.product(reference, Precision::f32, 1, 0, rows),
               most = magnitudes.product(reference, Precision::f32, 1, 0, rows);
    const double unit = static_cast<double>(20 + (in + 31) / 32) * 0x1.01p-24;
    for (std::size_t k = 0; k < found.size(); ++k) {
      ASSERT_LE(std::abs(static_cast<double>(found[k]) - static_cast<double>(expected[k])),
                unit * static_cast<double>(most[k]))
          << rows << " rows, " << in << " -> " << out << ", element " << k;
    }
  }
}

// Parts of a tile, of a step of 512 columns and of a block of outputs; each of them meets a part of
// another kind, but three steps do not meet two blocks: that is slow and two steps do.
TEST_P(TileMatmul, BitsDependOnTheRowAlone) {
  struct Size {
    std::int64_t in, out;
  };
  for (const Size& size : {Size{16, 130}, Size{56, 37}, Size{72, 130}, Size{520, 37},
                           Size{520, 130}, Size{1100, 37}}) {
    const Problem p(300, size.in, size.out);
    const auto all = product(p, 1, 0, p.rows);
    for (const int threads : {2, 3, 7})
      EXPECT_TRUE(same_bits(all, product(p, threads, 0, p.rows))) << threads << " threads";
    for (const std::int64_t count : {1, 2, 3, 5, 16, 17, 32, 33, 64, 100}) {
      for (const std::int64_t first : {0, 1, 31, 200}) {
        const std::vector<float> expected(all.begin() + first * size.out,
                                          all.begin() + (first + count) * size.out);
        EXPECT_TRUE(same_bits(product(p, 2, first, count), expected))
            << count << " rows from " << first << ", in " << size.in;
      }
    }
  }
}

// More rows than are laid out at a time (16 MiB of them): a row in the second piece.
TEST_P(TileMatmul, BitsDoNotDependOnThePiece) {
  const Problem p(1810, 4304, 3);
  const auto all = product(p);
  for (const std::int64_t first : {0, 255, 1790, 1791, 1792, 1807}) {
    const std::vector<float> expected(all.begin() + first * p.out,
                                      all.begin() + (first + 3) * p.out);
    EXPECT_TRUE(same_bits(product(p, 1, first, 3), expected)) << "row " << first;
  }
}

TEST_P(TileMatmul, NoRowsOutputsOrInputs) {
  Machine machine(set(), 2);
  machine.compute.precision = Precision::bf16;
  const float bias[2] = {3, 4};
  float y[4] = {9, 9, 9, 9};
  const auto multiply = [&](std::int64_t rows, std::int64_t out, std::int64_t in) {
    matmul(machine.compute, ConstView(nullptr, rows, in), Weight{DType::bf16, out, in, nullptr},
           bias, View(y, rows, out));
  };
  multiply(0, 2, 5);
  multiply(2, 0, 0);
  EXPECT_EQ(y[0], 9);
  multiply(2, 2, 0);
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[3], 4);
}

// What a product will need is asked for before it is counted, so that a plan knows it.
TEST_P(TileMatmul, CountsAsOtherProductsDo) {
  const Weight weight{DType::bf16, 70, 100, nullptr};
  const auto counted = [&](const Kernels& set, std::size_t& scratch) {
    Threads threads(1);
    Arena arena(Arena::Kind::addresses);
    Tally tally{{}, true};
    Compute compute{set, threads, arena, nullptr, &tally, Precision::bf16};
    matmul(compute, ConstView(nullptr, 40, 100), weight, nullptr, View(nullptr, 40, 70));
    scratch = arena.peak_bytes();
    return tally.work;
  };
  std::size_t scratch = 0, none = 0;
  const Work work = counted(set(), scratch), expected = counted(select("reference"), none);
  EXPECT_EQ(work.flops, expected.flops);
  EXPECT_EQ(work.weight_bytes, expected.weight_bytes);
  EXPECT_EQ(work.activation_bytes, expected.activation_bytes);
  EXPECT_GE(scratch, std::size_t{40 * 128 * 2});
}

TEST_P(TileMatmul, OnlyRoundedPrecisionAndStoredBfloat16) {
  Machine machine(set(), 1);
  Weight weight{DType::bf16, 4, 64, nullptr};
  EXPECT_FALSE(takes_tiles(machine.compute, weight)) << "f32 rounds nothing";
  machine.compute.precision = Precision::bf16;
  EXPECT_TRUE(takes_tiles(machine.compute, weight));
  weight.dtype = DType::f16;
  EXPECT_FALSE(takes_tiles(machine.compute, weight));
  weight.dtype = DType::bf16;
  weight.packed = std::make_shared<PackedWeight>();
  EXPECT_FALSE(takes_tiles(machine.compute, weight));
}

INSTANTIATE_TEST_SUITE_P(, TileMatmul,
                         testing::Values("amx-twin", "amx", "avx512-bf16-twin", "avx512-bf16"),
                         [](const auto& info) { return test_name(info.param); });

// In f32 the twin is the set that it is made of: no activation is rounded.
TEST(TileTwin, IsTheBestOtherSetInFloat32) {
  const Problem p(40, 200, 70);
  std::string_view other;
  for (const SetInfo& set : list_sets()) {
    const bool rounds = set.name == "amx" || set.name == "avx512-bf16";
    if (set.available && !set.twin && !rounds && other.empty()) other = set.name;
  }
  for (const char* name : {"amx-twin", "avx512-bf16-twin"}) {
    const auto twin = p.product(select(name), Precision::f32, 2, 0, 40);
    EXPECT_TRUE(same_bits(twin, p.product(select(other), Precision::f32, 2, 0, 40)));
    EXPECT_FALSE(same_bits(twin, p.product(select(name), Precision::bf16, 2, 0, 40)));
  }
}

/// The set that automatic choice takes.
std::string_view best_on(const CpuFeatures& cpu) {
  for (const SetInfo& set : list_sets(cpu)) {
    if (set.available) return set.name;
  }
  return "none";
}

TEST(KernelSets, TheBestOfEveryMachine) {
  CpuFeatures cpu;
  EXPECT_EQ(best_on(cpu), "reference");
  EXPECT_TRUE(list_sets(cpu).back().twin) << "twins come last: they are never the best";
#if defined(__x86_64__)
  cpu.avx2 = cpu.fma = cpu.f16c = true;
  EXPECT_EQ(best_on(cpu), "avx2");
  cpu.avx512f = cpu.avx512bw = cpu.avx512dq = cpu.avx512vl = true;
  EXPECT_EQ(best_on(cpu), "avx512");
  cpu.avx512_vnni = true;
  EXPECT_EQ(best_on(cpu), "avx512-vnni");
  cpu.avx512_bf16 = true;
  EXPECT_EQ(best_on(cpu), "avx512-bf16");
  EXPECT_EQ(refused_set(cpu), "");
  // Tile registers that the operating system keeps to itself.
  cpu.tiles_refused = true;
  EXPECT_EQ(best_on(cpu), "avx512-bf16");
  EXPECT_NE(refused_set(cpu).find("\"amx\""), std::string_view::npos);
  cpu.tiles_refused = false;
  cpu.amx_tile = cpu.amx_bf16 = true;
  EXPECT_EQ(best_on(cpu), "amx");
  // One kind of tile product is enough, whichever it is.
  cpu.amx_bf16 = false;
  EXPECT_EQ(best_on(cpu), "avx512-bf16");
  cpu.amx_int8 = true;
  EXPECT_EQ(best_on(cpu), "amx");
#endif
}

}  // namespace
}  // namespace sightline::kernels
