// From what a user calls a model to the directory that holds it: a directory, `demo`, or a
// repository id in the Hugging Face cache. The one resolver of every command. Reads the file system
// and the environment; never downloads.
#pragma once

#include <optional>
#include <string>

namespace sightline::cli {

/// The directory of a model. `demo` is always the checkpoint that comes with the binary
/// (share/sightline/demo, looked up from the running binary, links followed). `revision` is a
/// branch, tag or commit of a repository id. Throws Error(model_not_found) with everything that was
/// tried, Error(usage) for a revision of something that has none.
std::string resolve_model(const std::string& model, const std::optional<std::string>& revision);

/// True for `name` or `organisation/name` as the hub permits them.
bool is_repository_id(const std::string& text);

}  // namespace sightline::cli
