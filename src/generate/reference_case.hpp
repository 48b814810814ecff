// A reference case: the input of one prompt and what transformers made of it, as one safetensors
// file. Written by tools/reference/capture.py; docs/parity.md describes the format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::generate {

/// Pictures (or clips) of a case: all patches, one after the other.
struct CaseVisuals {
  std::vector<float> pixels;  ///< (Σ patches, patch_values)
  std::vector<nn::Grid> grids;

  /// One input per grid; views into `pixels`.
  [[nodiscard]] std::vector<model::VisualInput> inputs() const;
};

struct ReferenceCase {
  std::string path;
  std::vector<std::int32_t> ids;
  CaseVisuals images, videos;
  std::unique_ptr<const io::SafetensorsFile> file;  ///< the expected outputs

  /// Reads and checks the input tensors: `input_ids`, and `pixel_values` with `image_grid_thw`,
  /// `pixel_values_videos` with `video_grid_thw` where present. Throws Error(file_not_found,
  /// file_unreadable, invalid_case) naming file, tensor, expected and found.
  static ReferenceCase read(const std::string& path, const model::ModelInfo& info);

  /// An integer tensor of any shape, flattened; empty if the case has none of that name. Throws
  /// Error(invalid_case) for other element types than I64 and I32.
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name) const;
};

}  // namespace sightline::generate
