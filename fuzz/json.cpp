// Fuzz target of io/json: whatever is read is written again, and what is written reads back as the
// same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const io::Json value = io::parse_json(text, "fuzz");
    if (!(io::parse_json(io::to_json_text(value), "compact") == value)) std::abort();
    if (!(io::parse_json(io::to_json_text(value, 2), "indented") == value)) std::abort();
    if (!(io::parse_json(io::to_python_json(value), "python") == value)) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
