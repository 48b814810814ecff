// Where the pictures of a request come from: files, encoded bytes, raw pixels; each decoded and
// prepared for the tower.
#pragma once

#include <optional>
#include <string>

#include "generate/prompt.hpp"

namespace sightline::generate {

/// Opens, decodes and resizes one picture. `where` is the message part, `base_directory` what
/// relative paths are relative to. Throws Error naming the picture.
PromptPicture prepare(const Picture& source, const std::string& where,
                      const std::string& base_directory, const image::ProcessorConfig& processor,
                      const image::DecodeOptions& decode);

/// A path of a message, which is relative to `base_directory` unless that is empty.
std::string resolved(const std::string& path, const std::string& base_directory);

}  // namespace sightline::generate
