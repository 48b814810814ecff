// The text of the model code that this binary was built from, embedded at build time
// (cmake/embed_sources.cmake).
#pragma once

#include <span>
#include <string_view>

namespace sightline::audit {

struct EmbeddedFile {
  std::string_view path;  ///< below the root of the sources: "src/nn/linear.cpp"
  std::string_view text;  ///< all of it
};

/// In ascending order of paths.
std::span<const EmbeddedFile> embedded_files();

}  // namespace sightline::audit
