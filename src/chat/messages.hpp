// Messages as people send them (OpenAI's and Hugging Face's shapes), made uniform for the chat
// template, and the pictures and videos in them, in order. Free functions on JSON; no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chat/data_url.hpp"
#include "io/json.hpp"

namespace sightline::chat {

enum class VisualKind : std::uint8_t { image, video };

/// A picture or a video of a message.
struct VisualPart {
  std::size_t message = 0;  ///< index of the message
  std::size_t item = 0;     ///< index of the part in its content
  VisualKind kind = VisualKind::image;
  std::string where;                 ///< JSON path, "messages[0].content[1]"
  VisualSource source;               ///< of an image, and of a video given as one file
  std::vector<VisualSource> frames;  ///< of a video given as a list of pictures
  std::optional<std::int64_t> min_pixels, max_pixels;  ///< from the part or its image_url object
  io::Json options;  ///< of a video: an object with what else the part says (fps, num_frames, …)
};

struct Messages {
  io::Json json;  ///< for ChatTemplate::render
  std::vector<VisualPart> visuals;
};

/// Makes messages uniform: null members dropped; `reasoning_content` filled from `reasoning` or
/// `thinking`; arguments of tool calls given as a JSON text parsed; video_url parts turned into
/// video parts. What the template itself checks is left to it, so its own errors appear. Throws
/// Error(invalid_messages) naming the JSON path. HF: _normalize_chat_messages and
/// _alias_reasoning_fields.
io::Json normalize_messages(const io::Json& messages);

/// normalize_messages, then every content part checked (unknown types and fields are errors, never
/// ignored) and every picture and video listed with its source. Data URLs are decoded once and cut
/// out of `json`. Throws Error(invalid_messages, unsupported_content, file_too_large) naming the
/// JSON path.
Messages read_messages(const io::Json& messages);

}  // namespace sightline::chat
