// Transposition of packed codes (repack.hpp).
#include "io/repack.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sightline::io {
namespace {

constexpr std::int64_t kWord = 4;   // bytes
constexpr std::int64_t kTile = 16;  // words: a cache line of the source
constexpr int kAwqCodes = 8;        // in a word
constexpr std::array<int, kAwqCodes> kAwqOrder{0, 2, 4, 6, 1, 3, 5, 7};

std::uint32_t word_at(const std::byte* words, std::int64_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, words + index * kWord, sizeof word);
  return word;
}

void put_code(std::byte* row, std::int64_t k, PackedCode code, std::uint8_t value) {
  if (code != PackedCode::u4) {
    row[k] = static_cast<std::byte>(value);
    return;
  }
  row[k / 2] |= static_cast<std::byte>(k % 2 == 0 ? value : value << 4U);
}

}  // namespace

std::uint8_t packed_code(const std::byte* words, std::int64_t index, PackedCode code) {
  if (code != PackedCode::u4) return static_cast<std::uint8_t>(words[index]);
  const auto both = static_cast<unsigned>(words[index / 2]);
  return static_cast<std::uint8_t>(index % 2 == 0 ? both & 0xfU : both >> 4U);
}

Bytes rows_of_gptq(const std::byte* words, std::int64_t out, std::int64_t in, PackedCode code) {
  // A word is four bytes of its output's row, in order: the words are transposed.
  const std::int64_t row_bytes = packed_row_bytes(code, in, kWord), rows = row_bytes / kWord;
  Bytes result(static_cast<std::size_t>(out * row_bytes), std::byte{0});
  for (std::int64_t row = 0; row < rows; row += kTile) {
    for (std::int64_t first = 0; first < out; first += kTile) {
      for (std::int64_t o = first; o < std::min(out, first + kTile); ++o) {
        for (std::int64_t r = row; r < std::min(rows, row + kTile); ++r)
          std::memcpy(&result[static_cast<std::size_t>(o * row_bytes + r * kWord)],
                      words + (r * out + o) * kWord, kWord);
      }
    }
  }
  return result;
}

Bytes rows_of_awq(const std::byte* words, std::int64_t out, std::int64_t in) {
  const std::int64_t row_bytes = packed_row_bytes(PackedCode::u4, in, kWord);
  const std::int64_t columns = out / kAwqCodes;
  Bytes result(static_cast<std::size_t>(out * row_bytes), std::byte{0});
  // Eight inputs of eight outputs at a time: eight words become eight words.
  for (std::int64_t k = 0; k < in; k += kAwqCodes) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::array<std::uint32_t, kAwqCodes> made{};
      for (int i = 0; i < std::min<std::int64_t>(kAwqCodes, in - k); ++i) {
        const std::uint32_t word = word_at(words, (k + i) * columns + c);
        for (unsigned j = 0; j < kAwqCodes; ++j)
          made[static_cast<std::size_t>(kAwqOrder[j])] |= (word >> (4 * j) & 0xfU) << (4 * i);
      }
      for (int o = 0; o < kAwqCodes; ++o) {
        std::memcpy(&result[static_cast<std::size_t>((c * kAwqCodes + o) * row_bytes + k / 2)],
                    &made[static_cast<std::size_t>(o)], kWord);
      }
    }
  }
  return result;
}

std::uint8_t awq_code(const std::byte* words, std::int64_t o) {
  const auto place = static_cast<unsigned>(
      std::find(kAwqOrder.begin(), kAwqOrder.end(), o % kAwqCodes) - kAwqOrder.begin());
  return static_cast<std::uint8_t>(word_at(words, o / kAwqCodes) >> (4 * place) & 0xfU);
}

Bytes with_columns(const std::byte* rows, std::int64_t row_bytes, std::int64_t out,
                   std::span<const std::int32_t> columns, PackedCode code) {
  Bytes result(static_cast<std::size_t>(out * row_bytes), std::byte{0});
  for (std::int64_t o = 0; o < out; ++o) {
    const std::byte* from = rows + o * row_bytes;
    std::byte* to = result.data() + o * row_bytes;
    for (std::size_t j = 0; j < columns.size(); ++j)
      put_code(to, static_cast<std::int64_t>(j), code, packed_code(from, columns[j], code));
  }
  return result;
}

}  // namespace sightline::io
