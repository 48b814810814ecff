// The program of the README, compiled against installed headers only (see run.sh).
// usage: program MODEL_FOLDER QUESTION
#include <cstdio>

#include "sightline/engine.hpp"

int main(int, char** arguments) try {
  const auto engine = sightline::Engine::load(arguments[1]);
  auto session = engine.open_session();
  sightline::Request request;
  request.max_tokens = 32;
  // 64 x 64 red pixels; Picture::file("photo.jpg") and Picture::encoded(bytes) are the other kinds.
  std::vector<std::uint8_t> red(64 * 64 * 3);
  for (std::size_t i = 0; i < red.size(); i += 3) red[i] = 220;
  request.messages = {sightline::user({sightline::Picture::pixels(64, 64, red), arguments[2]})};
  const auto result = session.send(
      request, [](const sightline::Token& token) { std::fputs(token.text.c_str(), stdout); });
  std::printf("\n%zu tokens, %s\n", result.token_ids.size(), result.finish_reason.c_str());
} catch (const sightline::Error& error) {
  std::fprintf(stderr, "%s: %s\n", sightline::code_name(error.code()), error.what());
  return sightline::exit_code(error.domain());
}
