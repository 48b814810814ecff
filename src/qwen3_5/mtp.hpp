// The mtp.* tensors of a checkpoint: multi-token prediction, which neither transformers nor this
// engine runs. Their names and shapes stand here once, because no module walks them: for what a
// load leaves aside, for parameter counts, and for checkpoints that are written.
#pragma once

#include <vector>

#include "io/checkpoint.hpp"
#include "qwen3_5/config.hpp"

namespace sightline::qwen3_5 {

/// Every mtp.* tensor of a published checkpoint with this configuration, in the order of a decoder
/// layer; none if mtp_num_hidden_layers is 0. The experts of a mixture stand one by one, as Qwen3.5
/// stores them. Specification 1.5.
std::vector<io::NamedShape> mtp_tensors(const Config& config);

}  // namespace sightline::qwen3_5
