// A model's stages on the clock: pictures, prompts and answer tokens of given sizes, each with the
// operations and bytes that the kernels counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/compute.hpp"
#include "model/vision_language_model.hpp"
#include "nn/pass.hpp"

namespace sightline::audit {

struct BenchSizes {
  std::vector<nn::Grid> pictures;
  std::vector<std::int64_t> prompts;   ///< tokens
  std::vector<std::int64_t> contexts;  ///< tokens before the answer tokens that are timed
  std::int64_t answer = 16;            ///< answer tokens timed together
  std::int64_t runs = 5;               ///< timed runs of each; one more before them is not
};

/// One stage at one size.
struct BenchLine {
  std::string stage;        ///< "picture", "prompt" or "answer"
  std::string size;         ///< "640x480" (as resized), "512 tokens", "after 512 tokens"
  std::int64_t tokens = 0;  ///< of one run
  std::vector<double> seconds;
  kernels::Work work;  ///< of one run

  [[nodiscard]] double median() const;
  [[nodiscard]] double per_second(double amount) const { return amount / median(); }
};

/// Runs them in this order; `next` hears what comes. Pictures need a vision tower. Throws
/// Error(cancelled).
std::vector<BenchLine> run_bench(const model::VisionLanguageModel& model, nn::Pass& pass,
                                 const BenchSizes& sizes,
                                 const std::function<void(const std::string& next)>& next);

}  // namespace sightline::audit
