// SHA-256 (FIPS 180-4): names files, pictures and trace entries by content. No dependency.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sightline {

/// A SHA-256 digest under construction. Feed bytes with update(), read the result once with
/// finish().
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void update(const void* bytes, std::size_t size) noexcept;
  [[nodiscard]] Digest finish() noexcept;

 private:
  void compress(const std::uint8_t* block) noexcept;

  static constexpr std::size_t kBlock = 64;
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlock> pending_{};
  std::uint64_t total_ = 0;  ///< bytes fed so far
};

/// Lower-case hexadecimal digits of `size` bytes.
std::string hex(const std::uint8_t* bytes, std::size_t size);

/// The digest of a byte range as 64 hexadecimal digits.
std::string sha256_hex(const void* bytes, std::size_t size);

}  // namespace sightline
