// A result for programs (JSON) and the figures of a run for people (--stats).
#pragma once

#include <string>

#include "io/json.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

/// The result as `run --json` prints it; keys are listed in docs/messages.md.
io::Json result_json(const Result& result);

/// The engine's threads, kernel set and precision with their reasons, for the member "engine".
io::Json engine_json(const EngineInfo& info, const EngineOptions& options);

/// The lines of --stats.
std::string stats_text(const Result& result, const EngineInfo& info, const EngineOptions& options);

}  // namespace sightline::cli
