// A reference case of tests/data run under watch, for the tests of this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generate/load_model.hpp"
#include "generate/reference_case.hpp"
#include "kernels/kernels.hpp"
#include "model/positions.hpp"

namespace sightline::audit {

inline std::string model_directory(const std::string& name) {
  return std::string(SIGHTLINE_TEST_DATA) + "/models/" + name;
}

/// A model, one of its cases, and what a run of it needs; float32, two threads.
struct TracedCase {
  explicit TracedCase(const std::string& directory, const std::string& case_file)
      : model(generate::load_model(directory, true)),
        reference(generate::ReferenceCase::read(case_file, model->info())) {
    const model::ModelInfo& info = model->info();
    const auto types = model::token_types(reference.ids, info.image_token_id, info.video_token_id);
    model::append_positions(types, reference.images.grids, reference.videos.grids,
                            info.spatial_merge_size, 0, positions);
    pass.precision = nn::Precision::f32;
  }

  /// Logits (n, vocabulary) of the whole prompt, as the calls of transformers.
  std::vector<float> run(Trace* trace) {
    const auto images = reference.images.inputs(), videos = reference.videos.inputs();
    const auto n = static_cast<std::int64_t>(reference.ids.size());
    std::vector<float> logits(static_cast<std::size_t>(n * model->info().vocab_size));
    model::Cache cache = model->new_cache(pass.precision);
    pass.trace = trace;
    model->whole(pass, {reference.ids, images, videos, &positions}, cache,
                 {logits.data(), n, model->info().vocab_size});
    pass.trace = nullptr;
    return logits;
  }

  std::unique_ptr<model::VisionLanguageModel> model;
  generate::ReferenceCase reference;
  nn::Positions positions;
  Threads threads{2};
  Arena arena;
  nn::Pass pass{kernels::select("auto"), threads, arena};
};

}  // namespace sightline::audit
