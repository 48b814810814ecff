// Chat templates: any text is a template that renders a conversation to bytes with one origin each,
// or an Error.
#include "chat/chat_template.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

// One of everything that templates look at.
constexpr const char* kMessages = R"([
  {"role": "system", "content": "Be brief."},
  {"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": " What? "}]},
  {"role": "assistant", "reasoning_content": "Hm.", "content": "", "tool_calls":
    [{"function": {"name": "look", "arguments": {"x": 1.5, "deep": {"k": [true, null, "é\n"]}}}}]},
  {"role": "tool", "content": "<|im_end|>"},
  {"role": "user", "content": "And now?"}])";
constexpr const char* kTools = R"([{"type": "function", "function": {"name": "look",
  "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}}])";
constexpr std::int64_t kNow = 1'700'000'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  static const io::Json kConversation = io::parse_json(kMessages, "messages");
  static const io::Json kDefinitions = io::parse_json(kTools, "tools");
  try {
    const auto program =
        chat::ChatTemplate::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const bool all : {false, true}) {
      chat::RenderInput input{kConversation, all ? &kDefinitions : nullptr};
      input.kwargs.add("enable_thinking", all);
      input.kwargs.add("add_vision_id", all);
      input.add_generation_prompt = !all;
      input.now = kNow;
      const SourceText text = program.render(input);
      if (text.origins.size() != text.bytes.size()) std::abort();
      for (const Origin origin : text.origins) {
        if (origin > text.parts.size()) std::abort();
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
