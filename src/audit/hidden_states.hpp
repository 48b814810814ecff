// The hidden states of a run that are easily confused: what the vision tower ends with, what its
// merger makes of that, what the language model ends with; and whether any two are one tensor.
#pragma once

#include <string>
#include <vector>

#include "audit/module_tree.hpp"
#include "io/json.hpp"
#include "sightline/trace.hpp"
#include "trace/statistics.hpp"

namespace sightline::audit {

struct HiddenState {
  const char* tower;  ///< "vision", "language", "head"
  const char* name;   ///< transformers' name of it, e.g. "pooler_output"
  std::string from;   ///< "model.visual", "model.visual|pooler_output": a trace key without prefix
  DType dtype = DType::f32;
  Shape shape;
  trace::Statistics statistics;
  std::string sha256;  ///< of the values without gaps

  [[nodiscard]] std::int64_t width() const { return shape.back(); }
  /// Same shape and same bits.
  [[nodiscard]] bool same_as(const HiddenState& other) const {
    return shape == other.shape && sha256 == other.sha256;
  }
};

/// Watches a run for its hidden states; the first call of each module counts (pictures before
/// clips).
class HiddenWatch final : public Trace {
 public:
  explicit HiddenWatch(const ModuleNode& tree);

  void enter(const Site&, const std::source_location&, const std::source_location&) override {}
  void input(const Site&, const TensorRef&) override {}
  void note(const Site& site, const TensorRef& tensor) override;
  void output(const Site& site, const TensorRef& tensor) override;
  void leave(const Site&) override {}

  /// Those that the run had, vision first.
  [[nodiscard]] std::vector<HiddenState> states() const;

 private:
  void see(const std::string& from, const TensorRef& tensor);

  std::vector<HiddenState> states_;  // in the order of the report; not seen yet: no sha256
};

/// True if some state of the vision tower and some state of the language model are one tensor.
bool towers_share_a_tensor(const std::vector<HiddenState>& states);

/// {"states": [{"tower", "name", "from", "shape", "width", "dtype", "stats", "sha256", "same_as"}],
/// "widths": {"vision", "language"}, "same_tensor"}.
io::Json hidden_json(const std::vector<HiddenState>& states);

}  // namespace sightline::audit
