// Numbers to characters without locale, memory or exceptions (text.hpp).
#include "calc/text.hpp"

#include <charconv>
#include <cmath>

namespace sightline::calc {
namespace {

constexpr std::size_t kNumberBytes = 400;  // the longest double in fixed notation has 309 + 17

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
  std::array<char, kNumberBytes> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed)
          .ptr;
  const std::string_view number = between(digits.data(), end);
  add(number);
  const bool whole = std::isfinite(value) && number.find('.') == std::string_view::npos;
  return whole ? add(".0") : *this;
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
