// Clips as strangers send them: any bytes are frames of the declared size, or an Error; never a
// crash, another file opened, or memory beyond the limits. FFmpeg's own code is not instrumented.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sightline/error.hpp"
#include "video/open.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  constexpr std::int64_t kMaxPixels = 200'000;  // keeps one run short
  constexpr std::int64_t kMostFrames = 8;
  const auto require = [](bool condition) {
    if (!condition) std::abort();
  };
  try {
    const video::OpenedClip clip =
        video::open_bytes({reinterpret_cast<const char*>(data), size}, "fuzz",
                          {.max_pixels = kMaxPixels, .alpha = image::Alpha::white});
    const video::ClipFacts& facts = clip.reader->facts();
    require(facts.frames >= 1 && facts.width >= 1 && facts.height >= 1);
    // From the last to the first: every frame is a jump.
    for (std::int64_t n = std::min(facts.frames, kMostFrames); n-- > 0;) {
      const image::Image frame =
          clip.reader->frame(n * facts.frames / std::min(facts.frames, kMostFrames));
      require(frame.width * frame.height <= kMaxPixels &&
              frame.rgb.size() == static_cast<std::size_t>(frame.width * frame.height * 3));
    }
  } catch (const Error& error) {
    require(error.code() != Code::internal);
  }
  return 0;
}
