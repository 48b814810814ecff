// The ten-line program of the documentation, compiled against installed headers only (see run.sh).
#include <cstdio>

#include "sightline/error.hpp"

int main() {
  const sightline::Error error(sightline::Code::missing_tensor,
                               "what, where, expected, found, what to do");
  std::printf("%s, exit code %d\n", sightline::code_name(error.code()),
              sightline::exit_code(error.domain()));
  return error.domain() == sightline::Domain::checkpoint ? 0 : 1;
}
