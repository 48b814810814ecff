// Sums over the module tree (parameters.hpp).
#include "audit/parameters.hpp"

namespace sightline::audit {
namespace {

std::int64_t parameters_of(const ModuleNode& tree, std::string_view path) {
  const ModuleNode* node = tree.find(path);
  return node == nullptr ? 0 : node->parameters();
}

}  // namespace

ParameterCounts count_parameters(const model::ModelInfo& info, const ModuleNode& tree) {
  ParameterCounts counts;
  counts.vision = parameters_of(tree, "model.visual");
  counts.language = parameters_of(tree, "model.language_model");
  counts.head = parameters_of(tree, "lm_head");
  counts.tensors = tree.tensor_count() + static_cast<std::int64_t>(info.mtp.size());
  for (const io::NamedShape& tensor : info.mtp) counts.mtp += tensor.shape.elements();
  return counts;
}

}  // namespace sightline::audit
