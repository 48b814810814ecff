// Bytes as base64 (RFC 4648, with padding), for maps inside JSON.
#pragma once

#include <algorithm>

#include <cstdint>
#include <string>
#include <string_view>

namespace sightline::audit {

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kGroup = 3;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += kGroup) {
    const std::size_t held = std::min(kGroup, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < kGroup; ++k)
      group = group << 8U | (k < held ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k <= kGroup; ++k)
      text += k <= held ? kDigits[group >> (18U - 6U * k) & 63U] : '=';
  }
  return text;
}

}  // namespace sightline::audit
