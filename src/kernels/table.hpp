// The kernel table: the innermost loops that every instruction set provides. Only src/kernels/
// includes this file. Each entry fixes its own order of additions, so that a result's bits never
// depend on how many rows were asked for, on alignment or on position. Entries are called from
// worker threads; they allocate nothing and keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/kernels.hpp"
#include "sightline/tensor.hpp"
#include "tensor/integer_form.hpp"
#include "tensor/packed_weight.hpp"

namespace sightline::kernels {

/// Depth of one step of a dot product. A dot product is the sum, in ascending order, of the partial
/// results of steps of this many elements; one row of operands of a step fits into 2 KiB.
inline constexpr std::int64_t kDotStep = 512;
static_assert(kDotStep == kIntegerStep);

/// Columns in which the recurrent delta rule keeps its state while it works on it.
inline constexpr std::int64_t kDeltaColumns = 32;

/// c[r, o] (+)= Σ_k a[r, k] · b[o, k], one step of `depth` <= kDotStep. Both operands are float32,
/// their rows padded with zeros to a multiple of Kernels::lanes, which `depth` is.
struct DotPanel {
  const float* a = nullptr;
  std::int64_t a_stride = 0, rows = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0, cols = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0, depth = 0;
  bool accumulate = false;
};

/// Rows of a group, of floats, of 16-bit integers and of bytes. Groups are what the products of
/// many rows read: all of a group's values of some columns lie together, so that a register tile
/// reads one run of memory whatever the row's length. As many as a tile of four outputs keeps in
/// registers.
struct GroupSizes {
  std::int64_t floats = 1, integers = 1, bytes = 1;
};

/// One step of a block of rows into groups of `size` rows, [group][depth / lanes][size][lanes],
/// zeros behind the last row and the last column: whole groups, `depth` rounded up to
/// Kernels::lanes. Values are only moved: two rounded integers go through as one float.
struct GroupRows {
  const float* x = nullptr;
  std::int64_t x_stride = 0, rows = 0, depth = 0, size = 1;
  float* out = nullptr;
};

/// y[r, o] = Σ_k x[r, k] · W[o, k] + bias[o], W as stored: the bits of the panels above. With
/// `groups`, the same rows from group_rows, step after step; worth it for many rows.
struct DotStored {
  const float* x = nullptr;
  std::int64_t x_stride = 0, rows = 0;
  const std::byte* w = nullptr;
  DType dtype = DType::f32;
  std::int64_t in = 0, outs = 0;
  const float* bias = nullptr;  ///< of the first of these outs, or null
  float* y = nullptr;
  std::int64_t y_stride = 0;
  const float* groups = nullptr;  ///< or null
};

/// The same for a packed weight, from its codes: the bits that DotStored gives for the float32
/// values of its elements in the order in which they are packed. x is already in that order.
struct DotPacked {
  const float* x = nullptr;
  std::int64_t x_stride = 0, rows = 0;
  const PackedWeight* w = nullptr;
  std::int64_t first_out = 0, outs = 0;
  const float* bias = nullptr;  ///< of the first of these outs, or null
  float* y = nullptr;           ///< of the first of these outs
  std::int64_t y_stride = 0;
  const float* groups = nullptr;  ///< as in DotStored
};

/// y[r, o] = Σ_k x[r, k] · w[o, k] + bias[o] for rounded rows and the integer form of a weight: the
/// exact sum of each step, rounded to float32, times the product of the two scales; steps are added
/// in ascending order. The same bits in every set.
struct DotIntegers {
  const std::byte* x = nullptr;         ///< from round_step, step after step
  std::int64_t x_stride = 0, rows = 0;  ///< of a row in bytes
  const float* x_scales = nullptr;      ///< [rows][steps]
  std::int64_t steps = 0;
  const PackedWeight* w = nullptr;
  std::int64_t first_out = 0, outs = 0;
  const float* bias = nullptr;  ///< of the first of these outs, or null
  float* y = nullptr;           ///< of the first of these outs
  std::int64_t y_stride = 0;
  const std::byte* groups = nullptr;  ///< x in groups, or null
};

/// Scale of a step of activations whose greatest magnitude is `most`, and what to multiply by to
/// round them (0: all become 0). A step that is not finite has the scale NaN.
struct StepScale {
  float scale = 0, inverse = 0;
};
constexpr StepScale step_scale(float most, PackedCode code) {
  constexpr float kLeast = 1e-30F;  // below it there is no reciprocal: zero for all purposes
  const auto greatest =
      static_cast<float>(code == PackedCode::u4 ? kMostByteActivation : kMostActivation);
  if (!(most == most)) return {most, 0};
  if (most < kLeast) return {};
  return {most / greatest, greatest / most};
}

/// Elements [first, first + n) of one packed row, as they lie; `first` is even.
struct PackedRun {
  const PackedWeight* w = nullptr;
  std::int64_t row = 0, first = 0, n = 0;
};

/// c[r, d] = keep · c[r, d] + Σ_p a[r, p] · b[p, d] in ascending p, with keep = row_scale[r] (or
/// `scale` if that is null; 0 overwrites whatever c held). `cols` may be anything; a is read at a[r
/// · a_row + p · a_col].
struct MixPanel {
  const float* a = nullptr;
  std::int64_t a_row = 0, a_col = 1, rows = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0, cols = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0, depth = 0;
  const float* row_scale = nullptr;
  float scale = 1;
};

/// One token of the recurrent delta rule on kDeltaColumns columns of one head's state
/// ([key_dim][kDeltaColumns], rows `stride` apart): S <- decay·S; d = beta (v − Sᵀk); S <- S + k
/// dᵀ; out = Sᵀq.
struct DeltaStep {
  float* state = nullptr;
  std::int64_t stride = 0, key_dim = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;  ///< kDeltaColumns values
  float decay = 1, beta = 0;
  float* out = nullptr;  ///< kDeltaColumns values
};

struct TileProducts;  // tiles.hpp
struct ByteProducts;  // bytes.hpp
struct PairMixes;     // pair_mixes.hpp

struct Kernels {
  std::string_view name;
  std::string_view needs;
  std::int64_t lanes = 1;  ///< panels are padded to a multiple of it

  void (*widen)(DType dtype, const std::byte* source, std::int64_t n, float* out) = nullptr;

  // Products.
  void (*dot_panel)(const DotPanel& p) = nullptr;
  /// Null in a set that reads rows as they are.
  void (*group_rows)(const GroupRows& p) = nullptr;
  GroupSizes groups = {};
  void (*dot_stored)(const DotStored& p) = nullptr;
  void (*mix_panel)(const MixPanel& p) = nullptr;
  // Packed weights, whatever checkpoint format they come from.
  void (*unpack)(const PackedRun& run, float* out) = nullptr;
  void (*dot_packed)(const DotPacked& p) = nullptr;
  /// Rounds one step of a row (n <= kDotStep) to integers of at most kMostActivation, or
  /// kMostByteActivation (stored plus kByteMiddle) for codes of 4 bits; ties to even, in the order
  /// in which this set reads such codes, padded with stored zeros to a multiple of
  /// activation_pad(); returns its scale.
  float (*round_step)(const float* x, std::int64_t n, PackedCode code, std::byte* out) = nullptr;
  void (*dot_integers)(const DotIntegers& p) = nullptr;

  /// One block of online softmax for one row of kKvBlock scores. scores[0, n), n > 0, become
  /// exp(scale·score − max'), the rest 0; max and sum are updated; returns the factor for what was
  /// accumulated before, exp(max − max').
  float (*softmax_step)(float* scores, std::int64_t n, float scale, float* max,
                        float* sum) = nullptr;

  // The delta rule.
  void (*delta_step)(const DeltaStep& p) = nullptr;
  /// out[j] = exp(at − sums[j]), differences formed in double precision.
  void (*decay_row)(double at, const double* sums, std::int64_t n, float* out) = nullptr;
  /// y = x · scale / sqrt(Σ x² + 1e-6)
  void (*l2_norm)(const float* x, std::int64_t n, float scale, float* y) = nullptr;
  /// y[c] = silu(Σ_j taps[j · taps_stride + c] · rows[j][c])
  void (*conv_silu)(const float* const* rows, const float* taps, std::int64_t taps_stride,
                    std::int64_t width, std::int64_t n, float* y) = nullptr;

  // Rows; see elementwise.hpp.
  void (*rms_norm)(const float* x, const float* weight, float offset, float eps, std::int64_t n,
                   float* y) = nullptr;
  void (*rms_norm_gated)(const float* x, const float* gate, const float* weight, float eps,
                         std::int64_t n, float* y) = nullptr;
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps,
                     std::int64_t n, float* y) = nullptr;
  void (*add)(const float* a, const float* b, std::int64_t n, float* y) = nullptr;
  void (*silu_mul)(const float* gate, const float* up, std::int64_t n, float* y) = nullptr;
  void (*sigmoid_mul)(const float* gate, const float* x, std::int64_t n, float* y) = nullptr;
  void (*gelu_tanh)(const float* x, std::int64_t n, float* y) = nullptr;
  void (*gelu_erf)(const float* x, std::int64_t n, float* y) = nullptr;
  void (*rope)(float* x, const float* cos, const float* sin, std::int64_t half) = nullptr;

  /// Nothing but independent multiply-adds in registers, `rounds` times; returns the operations
  /// done. What this set can reach at most (machine_limits.hpp).
  double (*multiply_adds)(std::int64_t rounds) = nullptr;

  /// Products of bfloat16 with tile registers; null in a set that has none.
  const TileProducts* tiles = nullptr;
  /// Attention's products of bfloat16; null in a set that has none, which uses mix_panel.
  const PairMixes* pair_mixes = nullptr;

  /// Products of 8-bit codes with activations of 8 bits; null in a set that gains nothing from
  /// them, whose activations have 16 bits then.
  const ByteProducts* bytes = nullptr;
  /// The same with tile registers, for many rows: the same bits. Null without `bytes`.
  const ByteProducts* byte_tiles = nullptr;
};

extern const Kernels kReference;  // reference.cpp
#if defined(__x86_64__)
extern const Kernels kAvx2;        // x86_avx2.cpp
extern const Kernels kAvx512;      // x86_avx512.cpp
extern const Kernels kAvx512Vnni;  // x86_avx512_vnni.cpp
#endif

}  // namespace sightline::kernels
