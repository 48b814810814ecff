// JSON into a fixed piece of memory: no allocation, no exceptions, no runtime. Used by module.cpp.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "calc/text.hpp"

namespace sightline::web {

/// Writes JSON; what does not fit sets overflow() and is left out.
class JsonOut {
 public:
  explicit JsonOut(std::span<char> room) noexcept : room_(room) {}

  JsonOut& open(char bracket) noexcept {
    separate();
    fresh_ = true;
    return raw({&bracket, 1});
  }
  JsonOut& close(char bracket) noexcept {
    fresh_ = false;
    return raw({&bracket, 1});
  }
  JsonOut& key(std::string_view name) noexcept {
    text(name);
    fresh_ = true;
    return raw(":");
  }
  JsonOut& text(std::string_view value) noexcept {
    separate();
    raw("\"");
    for (const char c : value) escaped(c);
    return raw("\"");
  }
  JsonOut& number(std::int64_t value) noexcept {
    separate();
    char digits[24];
    return raw({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
  }
  /// A double; above 2^53 the digits of its integer, null where JSON has no such number.
  JsonOut& real(double value) noexcept {
    constexpr double kExact = 9007199254740992.0, kIntegers = 9e18;
    if (value >= -kExact && value <= kExact) {
      separate();
      return raw(calc::Text().add_python_float(value).view());
    }
    if (value >= -kIntegers && value <= kIntegers) return number(static_cast<std::int64_t>(value));
    separate();
    return raw("null");
  }
  JsonOut& boolean(bool value) noexcept {
    separate();
    return raw(value ? "true" : "false");
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool overflow() const noexcept { return overflow_; }

 private:
  void separate() noexcept {
    if (!fresh_) raw(",");
    fresh_ = false;
  }
  void escaped(char c) noexcept {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      const char pair[] = {'\\', c};
      raw({pair, 2});
    } else if (code < 0x20) {
      const char form[] = {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]};
      raw({form, sizeof form});
    } else {
      raw({&c, 1});
    }
  }
  JsonOut& raw(std::string_view bytes) noexcept {
    if (bytes.size() > room_.size() - size_) {
      overflow_ = true;
      return *this;
    }
    for (const char c : bytes) room_[size_++] = c;
    return *this;
  }

  std::span<char> room_;
  std::size_t size_ = 0;
  bool fresh_ = true, overflow_ = false;
};

}  // namespace sightline::web
