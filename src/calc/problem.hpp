// What can be wrong with the inputs of the calculator: a value, not an exception. The text is
// English; a page in another language writes its own from the code and the numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "calc/text.hpp"

namespace sightline::calc {

enum class ErrorCode : std::uint8_t {
  none,
  unknown_model,
  out_of_range,     ///< a number outside of [low, high]
  not_for_model,    ///< an input that the model's processor does not have
  not_for_mode,     ///< an input that means nothing in this mode
  both_given,       ///< two inputs that exclude each other
  bad_budget,       ///< a soft-token budget that the processor does not know
  aspect_ratio,     ///< longest over shortest side, `found`, above 200
  too_few_frames,   ///< a clip of fewer frames than one temporal patch
  no_frames,        ///< a clip without frames
  prepared_sides,   ///< a side of prepared frames that is no multiple of `low`
  too_many_frames,  ///< more frames wanted than the clip has
  no_size,          ///< no target size exists for these sides and this budget
};

/// Stable spelling, e.g. "aspect_ratio".
std::string_view name_of(ErrorCode code) noexcept;
/// What to do about it, without a full stop; empty where the message says it.
std::string_view hint_of(ErrorCode code) noexcept;

struct Problem {
  ErrorCode code = ErrorCode::none;
  std::string_view input;  ///< the input at fault ("height"); empty when it is none in particular
  double found = 0, low = 0, high = 0;
  Text message{};  ///< the reference's words where it has some

  [[nodiscard]] bool ok() const noexcept { return code == ErrorCode::none; }
};

/// "INPUT: expected an integer from LOW to HIGH, found VALUE"; no problem if it lies inside.
Problem check_range(std::string_view input, std::int64_t value, std::int64_t low,
                    std::int64_t high) noexcept;
/// The same for a real number; NaN lies outside.
Problem check_range(std::string_view input, double value, double low, double high) noexcept;

}  // namespace sightline::calc
