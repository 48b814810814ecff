// Loading and running under watch (traced_question.hpp).
#include "cli/traced_question.hpp"

#include <fmt/format.h>

namespace sightline::cli {

void add_traced_question(Command& command, TracedQuestion& options) {
  add_model(command, options.model);
  add_question_options(command, options.question);
  add_template_options(command, options.conversation);
  add_picture_options(command, options.model.engine);
  add_engine_options(command, options.model.engine);
  add_revision(command, options.model);
}

WatchedRun run_watched(
    const TracedQuestion& options, const char* command, Output& output,
    const std::function<std::vector<Trace*>(const model::ModelInfo&)>& make_watchers) {
  const Request request = make_request(options.conversation, options.question, command, output);
  WatchedRun watched{load_engine(options.model, output), {}, {}};
  watched.prompt = audit::build_prompt(watched.engine, request);
  const audit::Walk walk = audit::count_prompt(watched.engine, watched.prompt);
  audit::TraceOptions how;
  if (make_watchers) how.watchers = make_watchers(audit::info_of(watched.engine));
  output.progress(fmt::format("running {} tokens", watched.prompt.tokens()));
  watched.run = audit::trace_run(watched.engine, request, walk, how);
  output.progress({});
  return watched;
}

}  // namespace sightline::cli
