// Two captures of one run, module by module: ours against the reference's, or two of either. The
// order of the report is that of the calls, so that the first divergence is where a difference
// begins.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "trace/compare.hpp"

namespace sightline::audit {

struct CaptureDiff {
  std::string ours, reference;  ///< files
  double tolerance = 0;
  trace::CaptureComparison comparison;  ///< keys of traces alone, without their prefix

  [[nodiscard]] std::int64_t compared() const;
  /// Every tensor that both hold agrees.
  [[nodiscard]] bool ok() const { return !comparison.first_divergence; }
};

/// Compares the trace keys (`trace/...`) that both files hold. The call order is that of whichever
/// file was recorded in it; of two files that were not (transformers writes by name) it is worked
/// out from the modules' paths. Throws Error(file_not_found, file_unreadable, invalid_safetensors),
/// Error(invalid_case) if they have no key in common.
CaptureDiff diff_captures(const std::string& ours, const std::string& reference, double tolerance);

/// {"a", "b", "tolerance", "ok", "first_divergence", "tensors": [{"name", "state", "relative_l2",
/// "cosine", "max_abs_error", "elements", "non_finite"}]}; infinite figures are null.
io::Json diff_json(const CaptureDiff& diff);
/// "same", "differs", "other shape", "only in A", "only in B".
const char* state_text(trace::CaptureLine::State state);

}  // namespace sightline::audit
