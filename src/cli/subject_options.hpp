// MODEL of the commands that need no weights: also the name of a published size.
#pragma once

#include "audit/subject.hpp"
#include "cli/model_options.hpp"

namespace sightline::cli {

/// MODEL. An existing directory goes before a published size of the same name.
void add_subject(Command& command, ModelOptions& options, bool required = true);

/// Throws as resolve_model(), whose message then also names `sightline models`.
audit::Subject find_subject(const ModelOptions& options);

}  // namespace sightline::cli
