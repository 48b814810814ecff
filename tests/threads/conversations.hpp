// Shared by the tests of sessions on several threads: questions to the demo checkpoint, and what of
// an answer could differ by a bit.
#pragma once

#include <string>
#include <vector>

#include "sightline/engine.hpp"

namespace sightline {

inline Engine load_demo(EngineOptions options = {}) {
  if (options.threads == 0) options.threads = 2;
  return Engine::load(std::string(SIGHTLINE_TEST_DATA) + "/../../demo/checkpoint", options);
}

inline Picture plain(std::uint8_t r, std::uint8_t g, std::uint8_t b, std::int64_t side = 64) {
  std::vector<std::uint8_t> rgb;
  for (std::int64_t i = 0; i < side * side; ++i) rgb.insert(rgb.end(), {r, g, b});
  return Picture::pixels(side, side, std::move(rgb));
}

inline Request ask(std::vector<Part> content, std::int64_t max_tokens = 6) {
  Request request;
  request.messages = {user(std::move(content))};
  request.max_tokens = max_tokens;
  request.logprobs = 2;
  return request;
}

/// Ids and log-probabilities of every token.
inline std::vector<double> bits(const Result& result) {
  std::vector<double> all;
  for (const Token& token : result.tokens) {
    all.push_back(token.id);
    all.push_back(token.logprob->logprob);
    for (const TokenLogprob& top : token.top) all.push_back(top.logprob);
  }
  return all;
}

/// The bits of a fresh session on a fresh engine that does nothing else.
inline std::vector<double> alone(const Request& request) {
  return bits(load_demo().open_session().send(request));
}

}  // namespace sightline
