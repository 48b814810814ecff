// Names and advice of problems, and the one form of a range error (problem.hpp).
#include "calc/problem.hpp"

namespace sightline::calc {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::none:
      return "none";
    case ErrorCode::unknown_model:
      return "unknown_model";
    case ErrorCode::out_of_range:
      return "out_of_range";
    case ErrorCode::not_for_model:
      return "not_for_model";
    case ErrorCode::not_for_mode:
      return "not_for_mode";
    case ErrorCode::both_given:
      return "both_given";
    case ErrorCode::bad_budget:
      return "bad_budget";
    case ErrorCode::aspect_ratio:
      return "aspect_ratio";
    case ErrorCode::too_few_frames:
      return "too_few_frames";
    case ErrorCode::no_frames:
      return "no_frames";
    case ErrorCode::prepared_sides:
      return "prepared_sides";
    case ErrorCode::too_many_frames:
      return "too_many_frames";
    case ErrorCode::no_size:
      return "no_size";
  }
  return "unknown";
}

std::string_view hint_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::aspect_ratio:
      return "crop or pad it";
    case ErrorCode::too_few_frames:
      return "repeat the frame, or use mode image";
    case ErrorCode::prepared_sides:
      return "use mode video for frames of any size";
    case ErrorCode::both_given:
      return "give one of them";
    case ErrorCode::no_size:
      return "crop or pad it, or use another budget";
    default:
      return "";
  }
}

Problem check_range(std::string_view input, std::int64_t value, std::int64_t low,
                    std::int64_t high) noexcept {
  if (value >= low && value <= high) return {};
  Problem problem{ErrorCode::out_of_range,    input,
                  static_cast<double>(value), static_cast<double>(low),
                  static_cast<double>(high),  Text(input)};
  problem.message.add(": expected an integer from ").add(low).add(" to ").add(high);
  problem.message.add(", found ").add(value);
  return problem;
}

Problem check_range(std::string_view input, double value, double low, double high) noexcept {
  if (value >= low && value <= high) return {};
  Problem problem{ErrorCode::out_of_range, input, value, low, high, Text(input)};
  problem.message.add(": expected a number from ").add_python_float(low).add(" to ");
  problem.message.add_python_float(high).add(", found ").add_python_float(value);
  return problem;
}

}  // namespace sightline::calc
