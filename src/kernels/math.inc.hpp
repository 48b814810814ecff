// Included once by every vector set, inside its region: scalar functions without branches or calls,
// which the compiler turns into vector code. Multiplications and additions stay separate
// (-ffp-contract=off), so that the vector body and the remainder of a loop give the same bits.
// Polynomials were fitted for this file (minimax, relative error).

inline float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t to_bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }

/// e^x within 2 units in the last place; 0 below -104, infinity above 88.73, NaN for NaN.
inline float exp_of(float x) {
  constexpr float kLowest = -104.0F;  // e^-104 rounds to zero
  constexpr float kHighest = 89.0F;   // e^89 overflows
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;  // 355/512: products with the exponents are exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder =
      12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  x = x < kLowest ? kLowest : x;
  x = x > kHighest ? kHighest : x;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 0.0013813142431899905F;  // (e^r - 1 - r) / r^2, error 3.3e-9
  p = p * r + 0.008369418792426586F;
  p = p * r + 0.04166845604777336F;
  p = p * r + 0.16666515171527863F;
  p = p * r + 0.4999999403953552F;
  const float fraction = (p * r * r + r) + 1.0F;
  // 2^n in two factors, so that results below the normal range are rounded once and 2^128 is
  // reached.
  const auto exponent = static_cast<std::int32_t>(to_bits(shifted) - to_bits(kRounder));
  const std::int32_t half = exponent >> 1;
  const float first = from_bits(static_cast<std::uint32_t>(half + 127) << 23);
  const float second = from_bits(static_cast<std::uint32_t>(exponent - half + 127) << 23);
  return fraction * first * second;
}

inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

/// erfc(x / sqrt(2)) for x >= 0, within 1e-6 of its value.
inline float normal_tails(float x) {
  constexpr float kHalfRoot = 0.70710678118654752440F;  // 1 / sqrt(2)
  x = x > 20.0F ? 20.0F : x;                            // zero long before
  const float a = x * kHalfRoot;
  const float t = (a - 2.0F) / (a + 2.0F);
  float p = -0.0003994508588220924F;  // (1 + 2 a) e^(a^2) erfc(a), error 1.4e-8
  p = p * t - 0.0012280038790777326F;
  p = p * t + 0.0013133111642673612F;
  p = p * t + 0.008630098775029182F;
  p = p * t - 0.008060143329203129F;
  p = p * t - 0.054203882813453674F;
  p = p * t + 0.16405542194843292F;
  p = p * t - 0.16603146493434906F;
  p = p * t - 0.0927639827132225F;
  p = p * t + 1.2769783735275269F;
  // x^2 = head^2 + (x - head)(x + head): the first square is exact, the rest small.
  const float head = from_bits(to_bits(x) & 0xfffff000U);
  const float gauss = exp_of(-0.5F * (head * head)) * exp_of(-0.5F * ((x - head) * (x + head)));
  return gauss * p / (1.0F + 2.0F * a);
}

inline float gelu_tanh_of(float x) {
  constexpr float kLinear = 1.5957691216057308F;             // 2 sqrt(2 / pi)
  constexpr float kCubic = 1.5957691216057308F * 0.044715F;  // specification 5.4
  return x * sigmoid_of(x * (kLinear + kCubic * (x * x)));   // 0.5 (1 + tanh u) = sigmoid(2 u)
}

inline float gelu_erf_of(float x) {
  const float tail = 0.5F * normal_tails(x < 0.0F ? -x : x);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}
