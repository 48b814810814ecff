// What the page asks: lines "name=value" after the line that names the operation. Numbers are read
// strictly: digits only, no sign in front of them but '-', no blanks, no exponent.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calc/problem.hpp"

namespace sightline::web {

class Fields {
 public:
  explicit Fields(std::string_view lines) noexcept : lines_(lines) {}

  /// The value of a name; nothing if it is absent or empty.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
    std::string_view rest = lines_;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=') {
        const std::string_view value = line.substr(name.size() + 1);
        if (!value.empty()) return value;
      }
    }
    return std::nullopt;
  }

  /// An integer; the first value that is none becomes the problem.
  std::optional<std::int64_t> integer(std::string_view name) noexcept {
    return parsed<std::int64_t>(name, kDecimal);
  }

  /// A real number, given by the bits of its double in hexadecimal: exact, and the page has read
  /// the digits already.
  std::optional<double> real(std::string_view name) noexcept {
    const auto bits = parsed<std::uint64_t>(name, kHexadecimal);
    return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
  }

  [[nodiscard]] const calc::Problem& problem() const noexcept { return problem_; }

 private:
  static constexpr int kDecimal = 10, kHexadecimal = 16;

  template <typename Number>
  std::optional<Number> parsed(std::string_view name, int base) noexcept {
    const auto value = find(name);
    if (!value) return std::nullopt;
    Number number{};
    const char* end = value->data() + value->size();
    const auto [stop, fault] = std::from_chars(value->data(), end, number, base);
    if (fault == std::errc() && stop == end) return number;
    if (problem_.ok()) note(name, *value);
    return std::nullopt;
  }

  void note(std::string_view name, std::string_view value) noexcept {
    constexpr std::size_t kShown = 24;
    problem_.code = calc::ErrorCode::out_of_range;
    problem_.input = name;
    problem_.message.add(name).add(": expected a number in digits, found '");
    problem_.message.add(value.substr(0, kShown)).add("'");
  }

  std::string_view lines_;
  calc::Problem problem_;
};

}  // namespace sightline::web
