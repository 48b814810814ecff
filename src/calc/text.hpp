// A short text inside a value: no memory is taken, nothing throws. What the calculator says in
// errors and time stamps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sightline::calc {

/// At most kCapacity bytes; what does not fit is left out.
class Text {
 public:
  static constexpr std::size_t kCapacity = 480;

  Text() = default;
  explicit Text(std::string_view text) noexcept { add(text); }

  Text& add(std::string_view text) noexcept;
  Text& add(std::int64_t value) noexcept;
  /// A number as Python's repr writes it between 1e-4 and 1e16: the shortest digits that read back
  /// as the same double, ".0" kept ("200.1", "3.0"); smaller ones with at most 22 places. Above
  /// 2^53 "more than 9007199254740992.0".
  Text& add_python_float(double value) noexcept;
  /// An integer of at least two digits: "07".
  Text& add_two_digits(std::int64_t value) noexcept;
  /// A number from 0 to 2^53 with one decimal, the double's exact value rounded half to even, as
  /// C's "%.1f".
  Text& add_one_decimal(double value) noexcept;

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<char, kCapacity> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace sightline::calc
