// Messages as people send them: any JSON becomes uniform messages with their pictures, which are
// not changed by a second reading, or an Error.
#include "chat/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  const auto require = [](bool condition) {
    if (!condition) std::abort();
  };
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const io::Json json = io::parse_json(text, "fuzz");
    const io::Json uniform = chat::normalize_messages(json);
    require(chat::normalize_messages(uniform) == uniform);
    const chat::Messages messages = chat::read_messages(json);
    for (const chat::VisualPart& visual : messages.visuals) {
      require(visual.message < messages.json.as_array().size());
      const io::Json* content = messages.json.as_array()[visual.message].find("content");
      require(content != nullptr && visual.item < content->as_array().size());
    }
  } catch (const Error&) {
  }
  return 0;
}
