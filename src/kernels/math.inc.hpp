// Included once by every vector set, inside its region, after its Vec: elementary functions of a
// vector. The remainder of a row goes through the same code, masked, so that a value's bits do not
// depend on its place. Polynomials were fitted for this file (minimax, relative error).

/// e^x within 2 units in the last place; 0 below -104, infinity above 88.73, NaN for NaN.
inline Vec exp_of(Vec x) {
  constexpr float kLowest = -104.0F;  // e^-104 rounds to zero
  constexpr float kHighest = 89.0F;   // e^89 overflows
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;  // 355/512: products with the exponents are exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = Vec::at_most(Vec::at_least(x, Vec::all(kLowest)), Vec::all(kHighest));
  const Vec rounder = Vec::all(kRounder);
  const Vec n = Vec::sub(Vec::fma(x, Vec::all(kLog2E), rounder), rounder);
  const Vec r = Vec::fma(n, Vec::all(-kLn2Low), Vec::fma(n, Vec::all(-kLn2High), x));
  Vec p = Vec::all(0.0013813142431899905F);  // (e^r - 1 - r) / r^2, error 3.3e-9
  p = Vec::fma(p, r, Vec::all(0.008369418792426586F));
  p = Vec::fma(p, r, Vec::all(0.04166845604777336F));
  p = Vec::fma(p, r, Vec::all(0.16666515171527863F));
  p = Vec::fma(p, r, Vec::all(0.4999999403953552F));
  const Vec fraction = Vec::add(Vec::fma(Vec::mul(p, r), r, r), Vec::all(1.0F));
  return Vec::times_power(fraction, n);
}

inline Vec sigmoid_of(Vec x) {
  const Vec one = Vec::all(1.0F);
  return Vec::div(one, Vec::add(one, exp_of(Vec::sub(Vec::zero(), x))));
}

/// erfc(x / sqrt(2)) for x >= 0, within 1e-6 of its value.
inline Vec normal_tails(Vec x) {
  constexpr float kHalfRoot = 0.70710678118654752440F;  // 1 / sqrt(2)
  constexpr float kCoefficients[] = {
      -0.0003994508588220924F, -0.0012280038790777326F, 0.0013133111642673612F,
      0.008630098775029182F,   -0.008060143329203129F,  -0.054203882813453674F,
      0.16405542194843292F,    -0.16603146493434906F,   -0.0927639827132225F,
      1.2769783735275269F};              // (1 + 2 a) e^(a^2) erfc(a), error 1.4e-8
  x = Vec::at_most(x, Vec::all(20.0F));  // zero long before
  const Vec a = Vec::mul(x, Vec::all(kHalfRoot));
  const Vec two = Vec::all(2.0F);
  const Vec t = Vec::div(Vec::sub(a, two), Vec::add(a, two));
  Vec p = Vec::all(kCoefficients[0]);
  for (int i = 1; i < 10; ++i) p = Vec::fma(p, t, Vec::all(kCoefficients[i]));
  // x^2 = head^2 + (x - head)(x + head): the first square is exact, the rest small.
  const Vec head = Vec::upper_half(x);
  const Vec minus_half = Vec::all(-0.5F);
  const Vec rest = Vec::mul(Vec::sub(x, head), Vec::add(x, head));
  const Vec gauss = Vec::mul(exp_of(Vec::mul(minus_half, Vec::mul(head, head))),
                             exp_of(Vec::mul(minus_half, rest)));
  return Vec::div(Vec::mul(gauss, p), Vec::fma(two, a, Vec::all(1.0F)));
}

struct Silu {
  inline Vec operator()(Vec x) const { return Vec::mul(x, sigmoid_of(x)); }
};

struct GeluTanh {
  inline Vec operator()(Vec x) const {
    constexpr float kLinear = 1.5957691216057308F;             // 2 sqrt(2 / pi)
    constexpr float kCubic = 1.5957691216057308F * 0.044715F;  // specification 5.4
    const Vec slope = Vec::fma(Vec::all(kCubic), Vec::mul(x, x), Vec::all(kLinear));
    return Vec::mul(x, sigmoid_of(Vec::mul(x, slope)));  // 0.5 (1 + tanh u) = sigmoid(2 u)
  }
};

struct GeluErf {
  inline Vec operator()(Vec x) const {
    const Vec tail = Vec::mul(Vec::all(0.5F), normal_tails(Vec::absolute(x)));
    return Vec::mul(x, Vec::if_negative(x, tail, Vec::sub(Vec::all(1.0F), tail)));
  }
};

struct SiluMul {
  inline Vec operator()(Vec gate, Vec up) const { return Vec::mul(Silu{}(gate), up); }
};

struct SigmoidMul {
  inline Vec operator()(Vec gate, Vec x) const { return Vec::mul(x, sigmoid_of(gate)); }
};

/// e^(x - shift)
struct ExpShifted {
  Vec shift;
  inline Vec operator()(Vec x) const { return exp_of(Vec::sub(x, shift)); }
};

/// y[k] = fn(x[k]); y may be x.
template <class F>
inline void map(const float* x, std::int64_t n, float* y, const F& fn) {
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= n; k += Vec::kLanes) fn(Vec::load(x + k)).store(y + k);
  if (k < n) fn(Vec::load_first(x + k, n - k)).store_first(y + k, n - k);
}

/// y[k] = fn(a[k], b[k]); y may be a or b.
template <class F>
inline void map(const float* a, const float* b, std::int64_t n, float* y, const F& fn) {
  std::int64_t k = 0;
  for (; k + Vec::kLanes <= n; k += Vec::kLanes)
    fn(Vec::load(a + k), Vec::load(b + k)).store(y + k);
  if (k < n)
    fn(Vec::load_first(a + k, n - k), Vec::load_first(b + k, n - k)).store_first(y + k, n - k);
}

inline float exp_of(float x) {
  const Vec y = exp_of(Vec::all(x));
  float values[Vec::kLanes];
  y.store(values);
  return values[0];
}
