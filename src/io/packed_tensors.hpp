// The tensors of a quantised module as one PackedWeight: every name, shape and type checked, codes
// used where they lie if their order is that of the kernels (fp8, compressed-tensors), else
// rearranged once (GPTQ and AWQ store them input by input).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/quantisation.hpp"
#include "io/safetensors.hpp"

namespace sightline::io {

/// A module's matrix as the model expects it, and how the configuration says that it is stored.
struct PackedModule {
  std::string name;  ///< of the module, e.g. "model.language_model.layers.0.mlp.up_proj"
  std::int64_t out = 0, in = 0;
  const WeightScheme& scheme;
  std::string directory;  ///< for messages
};

/// Claims a tensor by its full name; nothing if the checkpoint has none.
using ClaimTensor = std::function<std::optional<StoredTensor>(const std::string& name)>;

/// Name of the tensor that holds the codes of a layout: "weight", "qweight" or "weight_packed".
std::string_view codes_leaf(PackedLayout layout);

/// Throws Error(missing_tensor, tensor_shape, tensor_dtype, invalid_config) naming the
/// tensor, expected and found.
std::shared_ptr<PackedWeight> load_packed(const PackedModule& module, const ClaimTensor& claim);

}  // namespace sightline::io
