// A model's stages on the clock: pictures, prompts and answer tokens of given sizes, each with the
// operations and bytes that the kernels counted. What they work on is made up: only its size
// counts.
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
  std::int64_t runs = 5;               ///< timed runs of each; a short one before them is not

  [[nodiscard]] std::size_t count() const {
    return pictures.size() + prompts.size() + contexts.size();
  }
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

/// Hears what is measured.
struct BenchListener {
  std::function<void(const std::string& what)> begins;  ///< "prompt of 512 tokens, run 2 of 5"
  std::function<void(const BenchLine& line)> measured;  ///< a line has all its runs
};

/// Measures all sizes, in the order of their lists; pictures need a vision tower. False if the run
/// was cancelled: the line that was cut off comes with the runs that it had, if it had any.
bool run_bench(const model::VisionLanguageModel& model, nn::Pass& pass, const BenchSizes& sizes,
               const BenchListener& listener);

/// A cache as after a prompt of so many tokens, without the prompt: keys, values and states are
/// made-up numbers of ordinary size. A step takes as long as after a real one, since it reads and
/// computes the same amounts whatever the values are.
model::Cache made_up_cache(const model::VisionLanguageModel& model, nn::Pass& pass,
                           std::int64_t tokens);

}  // namespace sightline::audit
