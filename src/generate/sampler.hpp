// From a row of logits to a token. A Sampler belongs to one answer; same options and logits give
// the same token on every machine and for every thread count. Uses nothing of the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sightline/engine.hpp"
#include "sightline/error.hpp"

namespace sightline::generate {

/// Options with every value settled (see Sampling for their meaning).
struct SamplerOptions {
  double temperature = 0, top_p = 1, min_p = 0;
  std::int64_t top_k = 0;
  double presence_penalty = 0, repetition_penalty = 1;
  std::uint64_t seed = 0;
  std::uint64_t choice = 0;  ///< which of several answers to one question this is

  [[nodiscard]] bool greedy() const { return temperature <= 0; }
};

/// Ranges of the options, ends included. Beyond them float32 logits only overflow.
inline constexpr double kMaxTemperature = 100, kMaxPresencePenalty = 100;
inline constexpr double kMinRepetitionPenalty = 0.01, kMaxRepetitionPenalty = 100;
inline constexpr std::int64_t kMaxTopK = 2147483647;  // the largest token id

/// Throws Error(`code`) "FILE: OPTION: expected …, found …", without a file "OPTION: …".
void check_options(const SamplerOptions& options, Code code = Code::invalid_option,
                   const std::string& file = "");

/// A set of token ids that may be chosen: bit id of word id / 64. Ids beyond the mask are
/// forbidden.
using TokenMask = std::span<const std::uint64_t>;

/// The random number of a token in [0, 1): a function of its arguments alone.
double uniform(std::uint64_t seed, std::uint64_t choice, std::uint64_t position);

class Sampler {
 public:
  /// `prompt` counts for the repetition penalty; ids outside the vocabulary are ignored.
  Sampler(const SamplerOptions& options, std::span<const std::int32_t> prompt,
          std::int64_t vocab_size);

  /// The next token: penalties, temperature, top_k, top_p, min_p (HF: generate), then the inverse
  /// of the cumulative distribution over candidates in descending probability, ties by ascending
  /// id. Greedy takes the first candidate. `mask` empty: every id is allowed. The chosen id counts
  /// for later penalties. Throws Error(non_finite) if no allowed logit is a number.
  std::int32_t next(std::span<const float> logits, TokenMask mask = {});

 private:
  void penalise(std::span<const float> logits, TokenMask mask);

  SamplerOptions options_;
  std::uint64_t position_ = 0;
  std::vector<float> scores_;
  std::vector<std::uint8_t> in_prompt_, in_answer_;  // by id
};

/// Natural logarithms of the softmax of `logits`: log-probabilities of `id` and of the `count` most
/// likely ids (descending, ties by id). Computed in double.
struct LogprobRow {
  double chosen = 0;
  std::vector<std::pair<std::int32_t, double>> top;
};
LogprobRow logprobs(std::span<const float> logits, std::int32_t id, int count);

}  // namespace sightline::generate
