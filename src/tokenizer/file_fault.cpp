// Faults of tokenizer.json in io::JsonReader's wording.
#include "tokenizer/file_fault.hpp"

#include "io/json.hpp"

namespace sightline::tokenizer {

void fail_file(const std::string& file, const std::string& path, const std::string& expected,
               const std::string& found) {
  const io::Json nothing;
  io::JsonReader(nothing, file, path, Code::invalid_tokenizer).fail(expected, found);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  const bool cut = text.size() > kMaxShown;
  return io::to_json_text(io::Json(text.substr(0, kMaxShown))) + (cut ? "…" : "");
}

}  // namespace sightline::tokenizer
