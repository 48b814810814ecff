// Included once by every vector set, inside its region: the loops over one row. Plain loops that
// the compiler vectorises; sums run in a fixed number of strands and end in a fixed tree.

/// Four floats: a vector type of GCC and Clang, for any machine.
using Four = float __attribute__((vector_size(16)));

/// f over N floats: the upper half with the lower one until one is left. Spelt out in vectors: from
/// a loop over halves GCC 12 makes branches.
template <int N, class F>
inline float fold_halves(const float* x, const F& f) {
  static_assert(N == 16 || N == 8);
  Four v[N / 4];
  __builtin_memcpy(v, x, sizeof v);
  if constexpr (N == 16) {
    v[0] = f(v[0], v[2]);
    v[1] = f(v[1], v[3]);
  }
  const Four four = f(v[0], v[1]);
  const Four two = f(four, __builtin_shufflevector(four, four, 2, 3, 2, 3));
  return f(two, __builtin_shufflevector(two, two, 1, 1, 1, 1))[0];
}

constexpr std::int64_t kStrands = 8;

inline double tree_sum(const double* s) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/// Sum of (x - center)^2 in double precision.
inline double sum_of_squares(const float* x, std::int64_t n, double center) {
  double strands[kStrands] = {};
  std::int64_t k = 0;
  for (; k + kStrands <= n; k += kStrands) {
    for (std::int64_t s = 0; s < kStrands; ++s) {
      const double d = static_cast<double>(x[k + s]) - center;
      strands[s] += d * d;
    }
  }
  for (std::int64_t s = 0; k < n; ++k, ++s) {
    const double d = static_cast<double>(x[k]) - center;
    strands[s] += d * d;
  }
  return tree_sum(strands);
}

inline double sum_of(const float* x, std::int64_t n) {
  double strands[kStrands] = {};
  std::int64_t k = 0;
  for (; k + kStrands <= n; k += kStrands) {
    for (std::int64_t s = 0; s < kStrands; ++s) strands[s] += static_cast<double>(x[k + s]);
  }
  for (std::int64_t s = 0; k < n; ++k, ++s) strands[s] += static_cast<double>(x[k]);
  return tree_sum(strands);
}

/// y = x / root mean square of x · (offset + weight), rounded once: what a norm rounds, the layers
/// behind it may magnify a hundredfold (docs/parity.md).
void rms_norm(const float* x, const float* weight, float offset, float eps, std::int64_t n,
              float* y) {
  const double mean = sum_of_squares(x, n, 0) / static_cast<double>(n);
  const double factor = 1.0 / __builtin_sqrt(mean + static_cast<double>(eps));
  const auto shift = static_cast<double>(offset);
  for (std::int64_t k = 0; k < n; ++k) {
    y[k] = static_cast<float>((static_cast<double>(x[k]) * factor) *
                              (shift + static_cast<double>(weight[k])));
  }
}

void rms_norm_gated(const float* x, const float* gate, const float* weight, float eps,
                    std::int64_t n, float* y) {
  rms_norm(x, weight, 0, eps, n, y);
  map(gate, y, n, y, SiluMul{});
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, std::int64_t n,
                float* y) {
  const double mean = sum_of(x, n) / static_cast<double>(n);
  const double variance = sum_of_squares(x, n, mean) / static_cast<double>(n);
  const double factor = 1.0 / __builtin_sqrt(variance + static_cast<double>(eps));
  for (std::int64_t k = 0; k < n; ++k) {
    const auto normed = static_cast<float>((static_cast<double>(x[k]) - mean) * factor);
    y[k] = normed * weight[k] + bias[k];
  }
}

void l2_norm(const float* x, std::int64_t n, float scale, float* y) {
  constexpr double kEps = 1e-6;  // specification 7.2
  const double factor = static_cast<double>(scale) / __builtin_sqrt(sum_of_squares(x, n, 0) + kEps);
  for (std::int64_t k = 0; k < n; ++k)
    y[k] = static_cast<float>(static_cast<double>(x[k]) * factor);
}

void add(const float* a, const float* b, std::int64_t n, float* y) {
  for (std::int64_t k = 0; k < n; ++k) y[k] = a[k] + b[k];
}
void silu_mul(const float* gate, const float* up, std::int64_t n, float* y) {
  map(gate, up, n, y, SiluMul{});
}
void sigmoid_mul(const float* gate, const float* x, std::int64_t n, float* y) {
  map(gate, x, n, y, SigmoidMul{});
}
void gelu_tanh(const float* x, std::int64_t n, float* y) { map(x, n, y, GeluTanh{}); }
void gelu_erf(const float* x, std::int64_t n, float* y) { map(x, n, y, GeluErf{}); }

void rope(float* x, const float* cos, const float* sin, std::int64_t half) {
  for (std::int64_t k = 0; k < half; ++k) {
    const float low = x[k];
    const float high = x[k + half];
    x[k] = low * cos[k] - high * sin[k];
    x[k + half] = high * cos[k] + low * sin[k];
  }
}

double multiply_adds(std::int64_t rounds) {
  constexpr int kChains = 12;  // enough to hide the latency of two units
  Vec chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vec::all(static_cast<float>(i));
  const Vec factor = Vec::all(0.5F);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kChains; ++i) chains[i] = Vec::fma(chains[i], factor, factor);
  }
  float last[Vec::kLanes];
  for (int i = 1; i < kChains; ++i) chains[0] = Vec::add(chains[0], chains[i]);
  chains[0].store(last);
  // Every chain tends to 1, so this is never true; it keeps the loop.
  if (last[0] < 0) return 0;
  return static_cast<double>(rounds) * 2 * kChains * static_cast<double>(Vec::kLanes);
}

void conv_silu(const float* const* rows, const float* taps, std::int64_t taps_stride,
               std::int64_t width, std::int64_t n, float* y) {
  for (std::int64_t c = 0; c < n; ++c) y[c] = taps[c] * rows[0][c];
  for (std::int64_t j = 1; j < width; ++j) {
    const float* row = rows[j];
    const float* tap = taps + j * taps_stride;
    for (std::int64_t c = 0; c < n; ++c) y[c] += tap[c] * row[c];
  }
  map(y, n, y, Silu{});
}

void decay_row(double at, const double* sums, std::int64_t n, float* out) {
  for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<float>(at - sums[j]);
  map(out, n, out, ExpShifted{Vec::zero()});
}

float softmax_step(float* scores, std::int64_t n, float scale, float* max, float* sum) {
  constexpr int kVecs = kKvBlock / Vec::kLanes;
  constexpr int kChains = 16 / Vec::kLanes;  // the sum runs in 16 strands
  for (std::int64_t p = n; p < kKvBlock; ++p) scores[p] = -__builtin_inff();
  Vec x[kVecs];
  Vec tops = Vec::all(*max);
  for (int i = 0; i < kVecs; ++i) {
    x[i] = Vec::mul(Vec::load(scores + i * Vec::kLanes), Vec::all(scale));
    tops = Vec::at_least(tops, x[i]);
  }
  float lanes[16];
  tops.store(lanes);
  const float top = fold_halves<Vec::kLanes>(lanes, [](Four a, Four b) { return b > a ? b : a; });
  const Vec shift = Vec::all(top);
  Vec sums[kChains];
  for (int i = 0; i < kVecs; ++i) {
    const Vec p = exp_of(Vec::sub(x[i], shift));
    p.store(scores + i * Vec::kLanes);
    sums[i % kChains] = i < kChains ? p : Vec::add(sums[i % kChains], p);
  }
  for (int i = 0; i < kChains; ++i) sums[i].store(lanes + i * Vec::kLanes);
  const float keep = *max == top ? 1.0F : exp_of(*max - top);  // most blocks hold no new maximum
  *sum = *sum * keep + fold_halves<16>(lanes, [](Four a, Four b) { return a + b; });
  *max = top;
  return keep;
}
