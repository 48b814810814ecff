// What an audit command is about: a published size by its name, or the checkpoint of a directory;
// either way a configuration that can be walked without weights.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "audit/family.hpp"
#include "io/json.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::audit {

struct Subject {
  std::string name;                      ///< what it is called in reports
  const FamilyMember* member = nullptr;  ///< a published size, or null
  std::optional<std::string> directory;  ///< of a checkpoint
  io::Json config;                       ///< its config.json
  std::string file;                      ///< what errors call the configuration

  /// A model of this configuration without weights (generate::declare_model). With a directory, an
  /// lm_head.weight among its tensors decides whether the head is tied, as when it is loaded.
  /// Throws Error(invalid_config, unsupported_model).
  [[nodiscard]] std::unique_ptr<model::VisionLanguageModel> declare() const;
};

Subject subject_of(const FamilyMember& member);
/// Reads DIRECTORY/config.json; no weights are needed. Throws Error(missing_file, invalid_config).
Subject subject_of_directory(const std::string& directory);
/// A config.json file by itself. Throws Error(file_not_found, invalid_config).
Subject subject_of_config(const std::string& file);

}  // namespace sightline::audit
