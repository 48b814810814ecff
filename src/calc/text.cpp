// Numbers to characters without locale, memory or exceptions (text.hpp).
#include "calc/text.hpp"

#include <bit>
#include <charconv>
#include <cmath>

namespace sightline::calc {
namespace {

constexpr std::size_t kNumberBytes = 48;  // 17 digits, at most kMaxPlaces zeros, a point
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
constexpr int kMantissaBits = 52, kExponentBias = 1075;
constexpr int kMaxPlaces = 22;  // 2^53 * 10^22 stays below 2^127
constexpr std::uint64_t kTen = 10;

/// digits / 10^places.
struct Decimal {
  std::uint64_t digits = 0;
  int places = 0;
};

__extension__ typedef unsigned __int128
    Wide;  // NOLINT(modernize-use-using): no alias takes the mark

/// The fewest decimal places that read back as `value`, 0 <= value <= 2^53, and of these the
/// nearest number; at most kMaxPlaces. In exact integers, because the standard library's own way
/// brings tables ten times the size of the calculator into a page.
Decimal shortest(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto raw = static_cast<int>(bits >> kMantissaBits);
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kMantissaBits;
  const std::uint64_t mantissa = raw == 0 ? 0 : (bits & (kHidden - 1)) | kHidden;
  const int shift = kExponentBias - raw;  // value = mantissa / 2^shift
  constexpr int kWideBits = 127;
  if (shift <= 0) return {mantissa << -shift, 0};
  if (mantissa == 0 || shift >= kWideBits) return {};
  Wide power = 1;  // 10^places
  for (int places = 0;; ++places, power *= kTen) {
    const Wide scaled = mantissa * power, unit = Wide{1} << shift;
    const Wide up = (scaled + unit / 2) >> shift;
    const bool tie = scaled + unit / 2 == up << shift;
    const Wide digits = tie && up % 2 == 1 ? up - 1 : up, back = digits << shift;
    const bool below = back < scaled;
    const Wide error = below ? scaled - back : back - scaled;
    const Wide steps = below && mantissa == kHidden ? 4 : 2;  // doubles lie closer below 2^n
    const Wide reach = steps * error;
    const bool reads_back = reach < power || (reach == power && mantissa % 2 == 0);
    if (reads_back || places == kMaxPlaces) return {static_cast<std::uint64_t>(digits), places};
  }
}

std::string_view between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

Text& Text::add(std::string_view text) noexcept {
  for (const char c : text) {
    if (size_ == kCapacity) break;
    bytes_[size_++] = c;
  }
  return *this;
}

Text& Text::add(std::int64_t value) noexcept {
  std::array<char, kNumberBytes> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return add(between(digits.data(), end));
}

Text& Text::add_python_float(double value) noexcept {
  if (std::isnan(value)) return add("nan");
  if (value < 0) return add("-").add_python_float(-value);
  if (value > kExactIntegers) return add("more than ").add_python_float(kExactIntegers);
  const Decimal decimal = shortest(value);
  std::array<char, kNumberBytes> digits;
  char* const end = digits.data() + digits.size();
  char* first = end;
  std::uint64_t rest = decimal.digits;
  for (int place = 0; place <= decimal.places || rest > 0; ++place, rest /= kTen) {
    if (place == decimal.places && place > 0) *--first = '.';
    *--first = static_cast<char>('0' + rest % kTen);
  }
  add(between(first, end));
  return decimal.places == 0 ? add(".0") : *this;
}

Text& Text::add_two_digits(std::int64_t value) noexcept {
  return value < 10 ? add("0").add(value) : add(value);
}

Text& Text::add_one_decimal(double value) noexcept {
  // The fraction in units of 2^-58 is an integer whenever its tenth can be rounded at all (a double
  // below 2^-5 has finer bits, but its first decimal is 0), so the tenths are found exactly.
  constexpr int kBits = 58;
  constexpr std::uint64_t kOne = std::uint64_t{1} << kBits;
  double whole = std::floor(value);
  const double fraction = value - whole;
  const auto ten_times = static_cast<std::uint64_t>(fraction * static_cast<double>(kOne)) * 10;
  std::uint64_t tenths = ten_times >> kBits;
  const std::uint64_t rest = ten_times & (kOne - 1);
  const bool tie = rest == kOne / 2;
  if (rest > kOne / 2 || (tie && tenths % 2 == 1)) ++tenths;
  if (tenths == 10) {
    tenths = 0;
    whole += 1;
  }
  return add(static_cast<std::int64_t>(whole)).add(".").add(static_cast<std::int64_t>(tenths));
}

}  // namespace sightline::calc
