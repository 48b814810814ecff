// What the commands share that run one question under watch: options and the run itself.
#pragma once

#include "audit/trace_run.hpp"
#include "cli/conversation_options.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"

namespace sightline::cli {

struct TracedQuestion {
  ModelOptions model;
  QuestionOptions question;
  ConversationOptions conversation;
};

/// MODEL, the question, and how prompt and engine treat them.
void add_traced_question(Command& command, TracedQuestion& options);

struct WatchedRun {
  Engine engine;
  generate::Prompt prompt;
  audit::TracedRun run;
};

/// Loads, runs and watches. `make_watchers` sees the loaded model first. `command` is named in
/// errors.
WatchedRun run_watched(
    const TracedQuestion& options, const char* command, Output& output,
    const std::function<std::vector<Trace*>(const model::ModelInfo&)>& make_watchers = {});

}  // namespace sightline::cli
