// Comparisons in bounded memory (compare.hpp).
#include "trace/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sightline/error.hpp"
#include "trace/elements.hpp"

namespace sightline::trace {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements widened at a time
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The position of the greatest element of the current row; the first of equals.
struct Argmax {
  double best = -kInfinity;
  std::int64_t at = 0;
  void see(std::int64_t column, double value) {
    if (value > best) {
      best = value;
      at = column;
    }
  }
};

class Accumulator {
 public:
  explicit Accumulator(std::int64_t cols) : cols_(cols) {}

  void add(double ours, double reference) {
    ++result_.elements;
    if (!std::isfinite(ours)) ++result_.non_finite;
    result_.max_abs_reference = std::max(result_.max_abs_reference, std::abs(reference));
    const bool comparable = std::isfinite(ours) && std::isfinite(reference);
    if (comparable) {
      const double error = ours - reference;
      result_.max_abs_error = std::max(result_.max_abs_error, std::abs(error));
      errors_ += error * error;
      ours_ += ours * ours;
      references_ += reference * reference;
      products_ += ours * reference;
    } else if (ours != reference && !(std::isnan(ours) && std::isnan(reference))) {
      broken_ = true;
    }
    row(ours, reference);
  }

  Comparison finish() {
    const double norm = std::sqrt(references_);
    if (errors_ > 0) result_.relative_l2 = norm > 0 ? std::sqrt(errors_) / norm : kInfinity;
    const double norms = std::sqrt(ours_) * norm;
    if (norms > 0) {
      result_.cosine = products_ / norms;
    } else if (ours_ > 0 || references_ > 0) {
      result_.cosine = 0;
    }
    if (broken_) {
      result_.relative_l2 = result_.max_abs_error = kInfinity;
      result_.cosine = 0;
    }
    return result_;
  }

 private:
  void row(double ours, double reference) {
    our_max_.see(column_, ours);
    reference_max_.see(column_, reference);
    if (++column_ < cols_) return;
    ++result_.rows;
    if (our_max_.at != reference_max_.at) ++result_.rows_with_other_argmax;
    our_max_ = reference_max_ = {};
    column_ = 0;
  }

  Comparison result_;
  std::int64_t cols_, column_ = 0;
  Argmax our_max_, reference_max_;
  double errors_ = 0, ours_ = 0, references_ = 0, products_ = 0;
  bool broken_ = false;
};

}  // namespace

Comparison compare(const io::StoredTensor& ours, const io::StoredTensor& reference) {
  const std::int64_t total = reference.shape.elements();
  if (ours.shape.elements() != total) {
    throw Error(
        Code::tensor_shape,
        fmt::format("{}: expected {} elements as in {} ({}), found {}", ours.name, total,
                    reference.file, io::shape_text(reference.shape), io::shape_text(ours.shape)),
        {{"tensor", std::string(ours.name)},
         {"expected", io::shape_text(reference.shape)},
         {"found", io::shape_text(ours.shape)}});
  }
  Accumulator sum(std::max<std::int64_t>(reference.shape.back(), 1));
  std::array<double, kBlock> a{}, b{};
  for (std::int64_t first = 0; first < total; first += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, total - first));
    to_doubles(ours.dtype, ours.data + first * dtype_size(ours.dtype), {a.data(), count});
    to_doubles(reference.dtype, reference.data + first * dtype_size(reference.dtype),
               {b.data(), count});
    for (std::size_t i = 0; i < count; ++i) sum.add(a[i], b[i]);
  }
  return sum.finish();
}

CaptureComparison compare_captures(const io::SafetensorsFile& ours,
                                   const io::SafetensorsFile& reference,
                                   const std::function<double(std::string_view)>& bound) {
  using State = CaptureLine::State;
  CaptureComparison result;
  for (const io::TensorEntry& entry : ours.entries()) {
    CaptureLine line;
    line.key = entry.name;
    line.bound = bound(entry.name);
    const auto other = reference.find(entry.name);
    if (!other) {
      line.state = State::not_in_reference;
    } else if (other->shape.elements() != entry.shape.elements()) {
      line.state = State::other_shape;
    } else {
      line.comparison = compare(ours.tensor(entry), *other);
      line.state = line.comparison.relative_l2 <= line.bound ? State::within : State::diverged;
    }
    const bool apart = line.state == State::diverged || line.state == State::other_shape;
    if (apart && !result.first_divergence) result.first_divergence = result.lines.size();
    result.lines.push_back(std::move(line));
  }
  for (const io::TensorEntry& entry : reference.entries()) {
    if (!ours.find(entry.name)) result.lines.push_back({entry.name, State::not_in_ours, 0, {}});
  }
  return result;
}

}  // namespace sightline::trace
