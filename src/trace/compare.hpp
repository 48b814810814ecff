// How far two tensors, or two captures of one run, are from each other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"

namespace sightline::trace {

/// Two tensors, flattened, in float64. An element that is not finite in one of them makes
/// relative_l2 and max_abs_error infinite, unless both hold the same value there.
struct Comparison {
  std::int64_t elements = 0;
  double relative_l2 = 0;        ///< ‖ours − reference‖ / ‖reference‖; 0 for two zero tensors
  double cosine = 1;             ///< 1 for two zero tensors
  double max_abs_error = 0;      ///< max |ours − reference|
  double max_abs_reference = 0;  ///< max |reference|
  std::int64_t non_finite = 0;   ///< elements of ours that are NaN or infinite
  std::int64_t rows = 0, rows_with_other_argmax = 0;  ///< over the reference's last dimension
};

/// Compares tensors of equal element counts; shapes may differ in axes of 1. Throws
/// Error(tensor_shape) if the counts differ, naming both, and Error(tensor_dtype) for 8-bit floats.
Comparison compare(const io::StoredTensor& ours, const io::StoredTensor& reference);

/// One line of the comparison of two captures.
struct CaptureLine {
  enum class State : std::uint8_t {
    within,            ///< relative L2 at most the bound
    diverged,          ///< above it, or not finite
    other_shape,       ///< element counts differ
    not_in_reference,  ///< only ours has it
    not_in_ours        ///< only the reference has it
  };
  std::string key;
  State state = State::within;
  double bound = 0;
  Comparison comparison;  ///< of `within` and `diverged`
};

struct CaptureComparison {
  std::vector<CaptureLine> lines;  ///< ours in call order, then what only the reference has
  std::optional<std::size_t> first_divergence;  ///< first line `diverged` or `other_shape`
};

/// Compares every tensor of `ours` (in the order of its bytes, which is call order) with the tensor
/// of that name in `reference`; `bound` gives the relative L2 allowed for a key.
CaptureComparison compare_captures(const io::SafetensorsFile& ours,
                                   const io::SafetensorsFile& reference,
                                   const std::function<double(std::string_view)>& bound);

}  // namespace sightline::trace
