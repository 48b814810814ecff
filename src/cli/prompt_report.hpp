// A prompt for programs (JSON, everything) and for people (a table, placeholders folded).
#pragma once

#include <string>

#include "generate/prompt.hpp"
#include "io/json.hpp"

namespace sightline::cli {

/// {"text", "tokens", "ids", "runs": [{"picture", "part", "name", "format", "first", "tokens",
/// "original", "resized", "grid", "orientation", "notes"}], "positions": [t, h, w], "rope_delta",
/// "next_position", "generation_start", "reasoning_open"}.
io::Json prompt_json(const generate::Prompt& prompt);

/// At most kHelpColumns wide.
std::string prompt_table(const generate::Prompt& prompt, const tokenizer::Tokenizer& tokenizer);

}  // namespace sightline::cli
