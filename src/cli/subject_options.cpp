// Published sizes beside what resolve.hpp finds.
#include "cli/subject_options.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace sightline::cli {

void add_subject(Command& command, ModelOptions& options, bool required) {
  command.positional("MODEL", options.model,
                     "A published size (see 'sightline models'), a checkpoint directory, 'demo', "
                     "or a repository id in the Hugging Face cache.",
                     required);
}

audit::Subject find_subject(const ModelOptions& options) {
  std::error_code error;
  const audit::FamilyMember* member = audit::find_member(options.model);
  if (member == nullptr || std::filesystem::is_directory(options.model, error)) {
    try {
      return audit::subject_of_directory(options.directory());
    } catch (const Error& failure) {
      if (failure.code() != Code::model_not_found) throw;
      throw Error(failure.code(),
                  fmt::format("{}; 'sightline models' lists the published sizes", failure.what()),
                  failure.context());
    }
  }
  if (options.revision) {
    throw Error(Code::usage, fmt::format("--revision: '{}' is a published size; only a repository "
                                         "id has revisions",
                                         options.model));
  }
  return audit::subject_of(*member);
}

}  // namespace sightline::cli
