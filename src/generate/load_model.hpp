// The one place that names the model families: config.json's model_type decides who loads the
// checkpoint.
#pragma once

#include <memory>
#include <string>

#include "io/checkpoint.hpp"
#include "io/json.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::generate {

/// Loads the model of a checkpoint directory. Throws Error naming file, place, expected and found;
/// an unknown model_type lists the known ones.
std::unique_ptr<model::VisionLanguageModel> load_model(const std::string& directory, bool use_mmap,
                                                       const io::WeightForm& form = {});

/// A model of this configuration without weights, to be walked by passes that only count (see
/// kernels::Tally). `file` names the document in messages. Throws as load_model().
std::unique_ptr<model::VisionLanguageModel> declare_model(const io::Json& config,
                                                          const std::string& file);

}  // namespace sightline::generate
