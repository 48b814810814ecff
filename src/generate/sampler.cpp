// Choosing tokens (sampler.hpp).
#include "generate/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sightline::generate {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection with good avalanche.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Ids in descending score, ties by ascending id; sorted only as far as somebody looks.
class Descending {
 public:
  explicit Descending(const std::vector<float>& scores) : scores_(scores) {
    for (std::size_t id = 0; id < scores.size(); ++id) {
      if (scores[id] > kForbidden) ids_.push_back(static_cast<std::int32_t>(id));
    }
  }
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  std::int32_t id(std::size_t rank) {
    if (rank >= sorted_) sort_until(rank + 1);
    return ids_[rank];
  }
  double score(std::size_t rank) { return scores_[static_cast<std::size_t>(id(rank))]; }

 private:
  void sort_until(std::size_t wanted) {
    constexpr std::size_t kFirst = 256;  // most answers look at few candidates
    const std::size_t end = std::min(ids_.size(), std::max({wanted, 2 * sorted_, kFirst}));
    const auto before = [&](std::int32_t a, std::int32_t b) {
      const float x = scores_[static_cast<std::size_t>(a)],
                  y = scores_[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    };
    const auto from = ids_.begin() + static_cast<std::ptrdiff_t>(sorted_),
               to = ids_.begin() + static_cast<std::ptrdiff_t>(end);
    std::partial_sort(from, to, ids_.end(), before);
    sorted_ = end;
  }
  const std::vector<float>& scores_;
  std::vector<std::int32_t> ids_;
  std::size_t sorted_ = 0;
};

// How many candidates of a descending list the filters leave, and the sum of exp(score − highest)
// over them.
struct Kept {
  std::size_t count;
  double mass;
};

Kept filter(Descending& order, const SamplerOptions& options) {
  const double highest = order.score(0);
  const auto weight = [&](std::size_t rank) { return std::exp(order.score(rank) - highest); };
  std::size_t count = order.size();
  if (options.top_k > 0) count = std::min(count, static_cast<std::size_t>(options.top_k));
  double mass = 0;
  for (std::size_t i = 0; i < count; ++i) mass += weight(i);
  if (options.top_p < 1) {
    double kept = 0;
    std::size_t i = 0;
    while (i < count && (i == 0 || kept < options.top_p * mass)) kept += weight(i++);
    count = i;
    mass = kept;
  }
  if (options.min_p > 0) {
    // The most likely candidate has weight 1, so its share is the unit of comparison.
    double kept = 0;
    std::size_t i = 0;
    while (i < count && (i == 0 || weight(i) >= options.min_p)) kept += weight(i++);
    count = i;
    mass = kept;
  }
  return {count, mass};
}

bool allowed(TokenMask mask, std::size_t id) {
  if (mask.empty()) return true;
  return id / 64 < mask.size() && ((mask[id / 64] >> (id % 64)) & 1U) != 0;
}

}  // namespace

void check_options(const SamplerOptions& options, Code code, const std::string& file) {
  const auto check = [&](const char* name, double value, double min, double max) {
    if (value >= min && value <= max) return;
    throw Error(code,
                fmt::format("{}{}{}: expected a number from {} to {}, found {}", file,
                            file.empty() ? "" : ": ", name, min, max, value),
                {{"option", name}});
  };
  check("temperature", options.temperature, 0, kMaxTemperature);
  check("top_p", options.top_p, 0, 1);
  check("min_p", options.min_p, 0, 1);
  check("top_k", static_cast<double>(options.top_k), 0, static_cast<double>(kMaxTopK));
  check("presence_penalty", options.presence_penalty, -kMaxPresencePenalty, kMaxPresencePenalty);
  check("repetition_penalty", options.repetition_penalty, kMinRepetitionPenalty,
        kMaxRepetitionPenalty);
}

double uniform(std::uint64_t seed, std::uint64_t choice, std::uint64_t position) {
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(mix(mix(mix(seed) ^ choice) ^ position) >> 11) * kUnit;
}

Sampler::Sampler(const SamplerOptions& options, std::span<const std::int32_t> prompt,
                 std::int64_t vocab_size)
    : options_(options),
      in_prompt_(static_cast<std::size_t>(vocab_size), 0),
      in_answer_(static_cast<std::size_t>(vocab_size), 0) {
  check_options(options);
  for (const std::int32_t id : prompt) {
    if (id >= 0 && id < vocab_size) in_prompt_[static_cast<std::size_t>(id)] = 1;
  }
}

void Sampler::penalise(std::span<const float> logits, TokenMask mask) {
  scores_.assign(logits.begin(), logits.end());
  const auto repetition = static_cast<float>(options_.repetition_penalty);
  const auto presence = static_cast<float>(options_.presence_penalty);
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    float& score = scores_[id];
    if (!allowed(mask, id) || std::isnan(score)) {
      score = kForbidden;
      continue;
    }
    const bool answered = in_answer_[id] != 0;
    if (repetition != 1 && (answered || in_prompt_[id] != 0))
      score = score > 0 ? score / repetition : score * repetition;
    if (answered) score -= presence;
  }
}

std::int32_t Sampler::next(std::span<const float> logits, TokenMask mask) {
  penalise(logits, mask);
  const auto best = std::max_element(scores_.begin(), scores_.end());
  if (best == scores_.end() || !std::isfinite(*best)) {
    throw Error(Code::non_finite,
                "the model's logits hold no finite value for any allowed token: expected finite "
                "weights; `sightline inspect --check` finds bad ones, `sightline trace` names the "
                "first module that is not finite");
  }
  auto chosen = static_cast<std::int32_t>(best - scores_.begin());
  if (!options_.greedy()) {
    // Relative to the best score, so that no temperature is small enough to overflow it.
    const double highest = *best;
    for (float& score : scores_) {
      score = static_cast<float>((score - highest) / options_.temperature);
    }
    Descending order(scores_);
    const Kept kept = filter(order, options_);
    double rest = uniform(options_.seed, options_.choice, position_) * kept.mass;
    std::size_t rank = 0;
    for (; rank + 1 < kept.count; ++rank) {
      rest -= std::exp(order.score(rank));  // the best score is 0
      if (rest < 0) break;
    }
    chosen = order.id(rank);
  }
  ++position_;
  in_answer_[static_cast<std::size_t>(chosen)] = 1;
  return chosen;
}

LogprobRow logprobs(std::span<const float> logits, std::int32_t id, int count) {
  const std::vector<float> scores(logits.begin(), logits.end());
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - highest);
  const double normaliser = highest + std::log(sum);
  LogprobRow row;
  row.chosen = scores[static_cast<std::size_t>(id)] - normaliser;
  Descending order(scores);
  for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(std::max(count, 0)));
       ++i) {
    row.top.emplace_back(order.id(i), order.score(i) - normaliser);
  }
  return row;
}

}  // namespace sightline::generate
