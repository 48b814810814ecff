// Numbers in messages and answers of the calculator, written without the standard library's tables.
// Protects: a digit that the reference's message does not have.
#include "calc/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <string>

namespace sightline::calc {
namespace {

std::string ours(double value) { return std::string(Text().add_python_float(value).view()); }

std::string standard(double value) {
  std::array<char, 400> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed)
          .ptr;
  const std::string text(digits.data(), end);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

TEST(CalcText, FloatsAreTheStandardLibrarysShortest) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-4, 15.9);
  for (int i = 0; i < 200'000; ++i) {
    const double value = std::pow(10, exponent(random));
    ASSERT_EQ(ours(value), standard(value));
  }
}

TEST(CalcText, RatiosOfSidesAndPowersOfTwo) {
  std::mt19937_64 random(8);
  std::uniform_int_distribution<int> side(1, 1'000'000);
  for (int i = 0; i < 100'000; ++i) {
    const double ratio = static_cast<double>(side(random)) / side(random);
    if (ratio >= 1e-4) ASSERT_EQ(ours(ratio), standard(ratio));
  }
  for (int power = -13; power <= 53; ++power) {
    ASSERT_EQ(ours(std::ldexp(1, power)), standard(std::ldexp(1, power)));
  }
}

TEST(CalcText, FloatsAtTheEdges) {
  EXPECT_EQ(ours(0), "0.0");
  EXPECT_EQ(ours(-0.5), "-0.5");
  EXPECT_EQ(ours(200.1), "200.1");
  EXPECT_EQ(ours(1e-6), "0.000001");
  EXPECT_EQ(ours(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(ours(9007199254740992.0), "9007199254740992.0");
  EXPECT_EQ(ours(1e300), "more than 9007199254740992.0");
  EXPECT_EQ(ours(INFINITY), "more than 9007199254740992.0");
  EXPECT_EQ(ours(NAN), "nan");
  EXPECT_EQ(ours(5e-324), "0.0");
}

}  // namespace
}  // namespace sightline::calc
