// Writes the quantization_config of a checkpoint in the layout pack-quantized of compressed-tensors
// (quant_config.py of version 0.20), as transformers, vLLM and quantisation.hpp read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.hpp"

namespace sightline::io {

/// A module with a matrix, by its path without ".weight".
struct PackedModuleGroup {
  std::string module;
  std::int64_t group_cols = 0;  ///< columns that share a scale; 0: left as it is stored
};

/// Symmetric codes of `bits` bits in groups. One group size: the class Linear is the target;
/// several: expressions for the modules of each, alike in every layer. `ignore` names, by
/// expressions that hold under any prefix of the whole model, each module that is left, and the
/// head, which a checkpoint with tied weights does not store. Throws Error(internal) unless
/// quantisation.hpp reads exactly this from it, which takes modules of one kind that are alike in
/// all layers.
Json pack_quantized_config(int bits, const std::vector<PackedModuleGroup>& modules);

/// "layers.*.mlp.down_proj": the path below the model, the numbers in it as stars.
std::string module_kind(const std::string& module);

}  // namespace sightline::io
