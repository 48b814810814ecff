// The messages of a request as the chat template wants them (JSON), and the pictures and videos in
// them, in order.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "io/json.hpp"
#include "sightline/engine.hpp"

namespace sightline::generate {

struct RequestVisual {
  std::variant<Picture, Video> source;
  std::string where;  ///< JSON path of the part, "messages[0].content[1]"
};

struct RequestMessages {
  io::Json json;
  std::vector<RequestVisual> visuals;
};

/// From `messages`, or, if that is empty, from the document `messages_json`. Throws
/// Error(invalid_messages, invalid_json, unsupported_content) naming the JSON path.
RequestMessages read_messages(const Request& request);

/// Throws Error(invalid_utf8) naming `where` and the first wrong byte, unless the text is UTF-8.
void require_utf8(const std::string& text, const std::string& where);

/// What else a template is rendered with.
struct RenderArguments {
  io::Json tools;  ///< null: none
  io::Json kwargs = io::Json::object();
};

/// Both texts may be empty. Throws Error(invalid_json, invalid_messages).
RenderArguments read_render_arguments(const std::string& tools_json,
                                      const std::string& kwargs_json);

}  // namespace sightline::generate
