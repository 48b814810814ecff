// A small machine over byte pairs: runs, escapes and literal pixels.
#include "image/bmp_run_lengths.hpp"

#include <algorithm>

namespace sightline::image {
namespace {

// Second byte of a pair whose first byte is 0.
enum Escape : std::uint8_t { kEndOfLine = 0, kEndOfBitmap = 1, kDelta = 2 };

class Expander {
 public:
  Expander(std::string_view data, std::int64_t width, std::int64_t height, bool nibbles)
      : data_(data), width_(width), height_(height), nibbles_(nibbles) {}

  /// False when the data are damaged.
  bool run() {
    while (!done_) {
      if (full()) return true;  // some writers omit the end mark
      if (!has(2)) return false;
      const std::uint8_t count = next(), value = next();
      const bool good = count > 0 ? put_run(count, value) : escape(value);
      if (!good) return false;
    }
    return true;
  }
  std::vector<std::uint8_t> take() {
    indices_.resize(static_cast<std::size_t>(width_ * height_));
    return std::move(indices_);
  }

 private:
  [[nodiscard]] bool has(std::size_t count) const { return data_.size() - at_ >= count; }
  [[nodiscard]] bool full() const { return y_ >= height_ || (y_ == height_ - 1 && x_ >= width_); }
  std::uint8_t next() { return static_cast<std::uint8_t>(data_[at_++]); }

  // Pixels beyond the right edge are dropped: writers pad runs to even counts.
  // The picture grows with the data: few bytes that declare a large one cost no memory.
  void put(std::uint8_t index) {
    const auto at = static_cast<std::size_t>(y_ * width_ + x_);
    if (x_ < width_ && at >= indices_.size()) indices_.resize(at + 1);
    if (x_ < width_) indices_[at] = index;
    ++x_;
  }

  bool put_run(int count, std::uint8_t value) {
    for (int i = 0; i < count; ++i) put(nibbles_ ? nibble(value, i) : value);
    return x_ <= width_ + 1;
  }

  bool escape(std::uint8_t code) {
    switch (code) {
      case kEndOfLine:
        x_ = 0;
        ++y_;
        return true;
      case kEndOfBitmap:
        done_ = true;
        return true;
      case kDelta:
        if (!has(2)) return false;
        x_ += next();
        y_ += next();
        return x_ <= width_ && y_ <= height_;
      default:
        return put_literal(code);
    }
  }

  // `count` pixels as they are, padded to 16 bits.
  bool put_literal(int count) {
    const auto bytes = static_cast<std::size_t>(nibbles_ ? (count + 1) / 2 : count);
    if (!has(bytes)) return false;
    for (int i = 0; i < count; ++i) {
      const auto offset = at_ + static_cast<std::size_t>(nibbles_ ? i / 2 : i);
      const auto byte = static_cast<std::uint8_t>(data_[offset]);
      put(nibbles_ ? nibble(byte, i) : byte);
    }
    at_ = std::min(at_ + bytes + bytes % 2, data_.size());
    return x_ <= width_ + 1;
  }

  static std::uint8_t nibble(std::uint8_t byte, int i) {
    return i % 2 == 0 ? byte >> 4 : byte & 15;
  }

  std::string_view data_;
  std::int64_t width_, height_;
  bool nibbles_, done_ = false;
  std::size_t at_ = 0;
  std::int64_t x_ = 0, y_ = 0;
  std::vector<std::uint8_t> indices_;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> expand_run_lengths(std::string_view data,
                                                            std::int64_t width, std::int64_t height,
                                                            bool nibbles) {
  Expander expander(data, width, height, nibbles);
  if (!expander.run()) return std::nullopt;
  return expander.take();
}

}  // namespace sightline::image
