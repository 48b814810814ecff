// Sampling defaults (generation_config.hpp).
#include "generate/generation_config.hpp"

#include <limits>
#include <random>

#include "io/file.hpp"
#include "io/json.hpp"

namespace sightline::generate {

GenerationConfig read_generation_config(const std::string& directory) {
  GenerationConfig config;
  const std::string path = directory + "/generation_config.json";
  if (!io::has_file(path)) return config;
  const io::Json json = io::read_json_file(path, Code::invalid_config);
  const io::JsonReader root(json, path, "", Code::invalid_config);
  if (!json.is_object()) root.fail("an object", json.type_name());
  constexpr double kAny = std::numeric_limits<double>::max();  // check_options() has the ranges
  constexpr std::int64_t kMaxId = std::int64_t{1} << 30;
  const auto number = [&](const char* key, double fallback) {
    return root.has(key) ? root.at(key).number(-kAny, kAny) : fallback;
  };
  // HF: do_sample false (or absent) means greedy, whatever the other keys say.
  const bool sample = root.has("do_sample") && root.at("do_sample").boolean();
  config.defaults.temperature = sample ? number("temperature", 1) : 0;
  config.defaults.top_p = number("top_p", 1);
  config.defaults.min_p = number("min_p", 0);
  // HF's default top_k is 50 for a sampled answer.
  constexpr std::int64_t kDefaultTopK = 50;
  config.defaults.top_k = root.has("top_k") ? root.at("top_k").integer(0, kMaxTopK)
                          : sample          ? kDefaultTopK
                                            : 0;
  config.defaults.repetition_penalty = number("repetition_penalty", 1);
  check_options(config.defaults, Code::invalid_config, path);
  if (root.has("eos_token_id")) {
    const io::JsonReader eos = root.at("eos_token_id");
    const bool list = eos.value().is_array();
    for (std::size_t i = 0; i < (list ? eos.size() : 1); ++i) {
      config.eos_token_ids.push_back(
          static_cast<std::int32_t>((list ? eos.at(i) : eos).integer(0, kMaxId)));
    }
  }
  return config;
}

SamplerOptions settle(const Sampling& request, const SamplerOptions& defaults) {
  SamplerOptions options = defaults;
  options.temperature = request.temperature.value_or(defaults.temperature);
  options.top_p = request.top_p.value_or(defaults.top_p);
  options.min_p = request.min_p.value_or(defaults.min_p);
  options.top_k = request.top_k.value_or(defaults.top_k);
  options.presence_penalty = request.presence_penalty.value_or(defaults.presence_penalty);
  options.repetition_penalty = request.repetition_penalty.value_or(defaults.repetition_penalty);
  if (request.seed) {
    options.seed = *request.seed;
  } else if (!options.greedy()) {
    std::random_device device;
    options.seed = (std::uint64_t{device()} << 32) | device();
  }
  check_options(options);
  return options;
}

}  // namespace sightline::generate
