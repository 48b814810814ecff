// One part of a message's content: text, picture or video, every field of it accounted for.
#pragma once

#include <optional>
#include <string>

#include "chat/messages.hpp"

namespace sightline::chat {

/// Error(invalid_messages) "WHERE: expected EXPECTED, found FOUND".
[[noreturn]] void fail_message(const std::string& where, const std::string& expected,
                               const std::string& found);

/// Checks a part; the picture or video in it, if it is one. Cuts decoded data URLs out of `part`.
/// Throws as read_messages.
std::optional<VisualPart> read_content_part(io::Json& part, const std::string& where);

}  // namespace sightline::chat
