// Fuzz target of image/processor_config.cpp: any JSON gives a configuration whose sizes can be
// computed, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "image/picture.hpp"
#include "image/processor_config.hpp"
#include "io/json.hpp"
#include "sightline/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const image::ProcessorConfig config =
        image::parse_processor_config(io::parse_json(text, "fuzz"), "fuzz");
    const image::TargetSize target = image::target_size(480, 640, config, "fuzz");
    const image::PixelTable table(config);
    if (target.height % config.factor() != 0 || table.channel(0)[0] != table.channel(0)[0])
      std::abort();
  } catch (const Error&) {
  }
  return 0;
}
