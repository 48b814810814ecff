// Two passes over a window of rows. The horizontal pass works on 16 rows at once, turned so that
// one vector holds the same column of all of them; the vertical pass on pieces of a row. Both are
// plain loops that compilers vectorise.
#include "image/resize.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "image/resize_filter.hpp"

namespace sightline::image {
namespace {

constexpr std::int64_t kLanes = 16;           // rows of one horizontal step
constexpr std::int64_t kColumn = 3 * kLanes;  // samples of one turned column: channel, then row
constexpr std::int64_t kPiece =
    1024;  // bytes of one vertical step: its sums stay in the first-level cache

std::uint8_t to_byte(std::int32_t sum, int precision) {
  return static_cast<std::uint8_t>(std::clamp(sum >> precision, 0, 255));
}

// sums[k] += weight * samples[k]: both factors 16 bits wide, which is what vector units multiply
// fastest.
template <std::int64_t N>
void accumulate(std::int32_t* sums, const std::uint8_t* samples, std::int16_t weight) {
  for (std::int64_t k = 0; k < N; ++k) {
    sums[k] += static_cast<std::int32_t>(weight) * static_cast<std::int16_t>(samples[k]);
  }
}

// Rows of the picture after the horizontal pass, made on demand and kept while the vertical pass
// needs them.
class HorizontalRows {
 public:
  HorizontalRows(const Image& image, std::int64_t width, std::int64_t window)
      : image_(image), width_(width) {
    if (width == image.width) return;
    filter_ = make_axis_filter(image.width, width);
    capacity_ = std::min((window + 2 * kLanes - 1) / kLanes * kLanes + kLanes, padded_height());
    kept_.resize(static_cast<std::size_t>(capacity_ * width * 3));
    turned_.resize(static_cast<std::size_t>(image.width * kColumn));
    result_.resize(static_cast<std::size_t>(width * kColumn));
  }

  /// Row y; the last `window` rows asked for stay valid. Rows are asked for in rising order.
  const std::uint8_t* row(std::int64_t y) {
    if (width_ == image_.width) return image_.rgb.data() + y * width_ * 3;
    while (y >= made_) make_rows();
    return kept_.data() + (y % capacity_) * width_ * 3;
  }

 private:
  [[nodiscard]] std::int64_t padded_height() const {
    return (image_.height + kLanes - 1) / kLanes * kLanes;
  }

  void make_rows() {
    const std::int64_t rows = std::min(kLanes, image_.height - made_);
    turn_in(rows);
    for (std::int64_t x = 0; x < width_; ++x) make_column(x);
    turn_out(rows);
    made_ += rows;
  }

  void turn_in(std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint8_t* in = image_.rgb.data() + (made_ + r) * image_.width * 3;
      std::uint8_t* out = turned_.data() + r;
      for (std::int64_t i = 0; i < image_.width * 3; ++i) out[i * kLanes] = in[i];
    }
  }

  void make_column(std::int64_t x) {
    const AxisFilter::Window& window = filter_.windows[static_cast<std::size_t>(x)];
    const std::int16_t* weights = filter_.weights.data() + window.weights;
    std::array<std::int32_t, kColumn> sums;
    sums.fill(1 << (filter_.precision - 1));
    const std::uint8_t* column = turned_.data() + window.first * kColumn;
    for (std::int64_t j = 0; j < window.count; ++j, column += kColumn) {
      accumulate<kColumn>(sums.data(), column, weights[j]);
    }
    std::uint8_t* out = result_.data() + x * kColumn;
    for (std::int64_t k = 0; k < kColumn; ++k) {
      out[k] = to_byte(sums[static_cast<std::size_t>(k)], filter_.precision);
    }
  }

  void turn_out(std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint8_t* in = result_.data() + r;
      std::uint8_t* out = kept_.data() + ((made_ + r) % capacity_) * width_ * 3;
      for (std::int64_t i = 0; i < width_ * 3; ++i) out[i] = in[i * kLanes];
    }
  }

  const Image& image_;
  std::int64_t width_;
  AxisFilter filter_;
  std::int64_t capacity_ = 0, made_ = 0;
  std::vector<std::uint8_t> kept_;             // [capacity_][width_ * 3], row y at y % capacity_
  std::vector<std::uint8_t> turned_, result_;  // [columns][3][kLanes]
};

// One output row out of the rows of its window.
void make_row(HorizontalRows& rows, const AxisFilter& filter, std::int64_t y, std::int64_t bytes,
              std::vector<const std::uint8_t*>& inputs, std::uint8_t* out) {
  const AxisFilter::Window& window = filter.windows[static_cast<std::size_t>(y)];
  const std::int16_t* weights = filter.weights.data() + window.weights;
  inputs.clear();
  for (std::int64_t j = 0; j < window.count; ++j) inputs.push_back(rows.row(window.first + j));
  std::array<std::int32_t, kPiece> sums;
  for (std::int64_t begin = 0; begin < bytes; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, bytes - begin);
    sums.fill(1 << (filter.precision - 1));
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const std::uint8_t* in = inputs[j] + begin;
      const std::int16_t weight = weights[j];
      for (std::int64_t k = 0; k < size; ++k) {
        sums[static_cast<std::size_t>(k)] +=
            static_cast<std::int32_t>(weight) * static_cast<std::int16_t>(in[k]);
      }
    }
    for (std::int64_t k = 0; k < size; ++k) {
      out[begin + k] = to_byte(sums[static_cast<std::size_t>(k)], filter.precision);
    }
  }
}

}  // namespace

Image resized(Image image, std::int64_t height, std::int64_t width) {
  if (height == image.height && width == image.width) return image;
  const std::int64_t bytes = width * 3;
  Image result{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(height * bytes))};
  if (height == image.height) {
    HorizontalRows rows(image, width, 1);
    for (std::int64_t y = 0; y < height; ++y) {
      std::copy_n(rows.row(y), bytes, result.rgb.data() + y * bytes);
    }
    return result;
  }
  const AxisFilter filter = make_axis_filter(image.height, height);
  HorizontalRows rows(image, width, filter.max_count);
  std::vector<const std::uint8_t*> inputs;
  for (std::int64_t y = 0; y < height; ++y) {
    make_row(rows, filter, y, bytes, inputs, result.rgb.data() + y * bytes);
  }
  return result;
}

}  // namespace sightline::image
