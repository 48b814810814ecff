// Parameters of a model by its parts, summed over the tensors that its modules claim: of a loaded
// checkpoint, or of a configuration alone (a declared model).
#pragma once

#include <cstdint>

#include "audit/module_tree.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::audit {

/// Elements of stored tensors. A tied head is part of the language model and counts nothing here.
struct ParameterCounts {
  std::int64_t vision = 0, language = 0, head = 0;
  std::int64_t mtp = 0;      ///< stored beside the model, never run
  std::int64_t tensors = 0;  ///< the mtp.* ones included

  [[nodiscard]] std::int64_t total() const { return vision + language + head + mtp; }
};

/// Counts of a model whose tree is `tree`. The mtp.* tensors are those of the published layout.
ParameterCounts count_parameters(const model::ModelInfo& info, const ModuleNode& tree);

}  // namespace sightline::audit
