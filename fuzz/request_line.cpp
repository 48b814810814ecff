// A line of a requests file, and a messages list: any JSON becomes a request or an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/jsonl_request.hpp"
#include "cli/messages_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  try {
    io::Json json = io::parse_json({reinterpret_cast<const char*>(data), size}, "line");
    if (json.is_array()) {
      cli::make_paths_absolute(json, "/base");
      return 0;
    }
    (void)cli::request_id(json, "line");
    (void)cli::parse_request_line(json, "line", {}, "/base");
  } catch (const Error&) {
  }
  return 0;
}
