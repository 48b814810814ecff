// One line of a requests file (`run --jsonl`) as a request; format in docs/messages.md.
#pragma once

#include <string>

#include "cli/conversation_options.hpp"
#include "io/json.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

/// A request line: an object with "question" (and "images", "system") or "messages", an optional
/// "id", and options that replace those of the command line for this request. `where` is what
/// errors call the line; relative picture paths are relative to `base_directory`. Throws
/// Error(invalid_messages) with the member, also for a member that does not exist.
Request parse_request_line(const io::Json& line, const std::string& where,
                           const ConversationOptions& defaults, const std::string& base_directory);

/// The line's "id" as JSON, null if it has none. Throws Error(invalid_messages) unless it is text
/// or an integer.
io::Json request_id(const io::Json& line, const std::string& where);

}  // namespace sightline::cli
