// One question run under watch: the calls of transformers for its prompt, with times, statistics
// and counted work. What `trace`, `merge` and `hidden` show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/events.hpp"
#include "audit/merge_proof.hpp"
#include "audit/walk.hpp"
#include "generate/prompt.hpp"
#include "sightline/engine.hpp"

namespace sightline::audit {

struct TraceOptions {
  bool statistics = false, maps = false;
  std::vector<Trace*> watchers;  ///< see every call too; borrowed
  std::function<void(const Event&)>
      left;  ///< called for every finished event, while the run goes on
};

struct TracedRun {
  Events events;
  std::vector<MergeProof> proofs;
  bool counted = false;  ///< the walk made the same calls, so that events carry their work
  kernels::Work work;
  std::int64_t cache_bytes = 0, peak_memory_bytes = 0;
  std::optional<std::string> failure;  ///< why no token could be chosen (non-finite logits)
};

// What the commands need of an engine's insides.
const model::ModelInfo& info_of(const Engine& engine);
const tokenizer::Tokenizer& tokenizer_of(const Engine& engine);

/// The prompt of a request as the engine will build it.
generate::Prompt build_prompt(const Engine& engine, const Request& request);

/// The calls that its run will make, counted by the engine's own model without computing.
Walk count_prompt(const Engine& engine, const generate::Prompt& prompt);

/// Runs the prompt in one piece and chooses one token. `walk` is count_prompt() of the same
/// request. Throws what Session::send() throws, but for non-finite logits.
TracedRun trace_run(const Engine& engine, const Request& request, const Walk& walk,
                    const TraceOptions& options, const OnProgress& on_progress = {});

/// The first call, in the order of finishing, that returned or held a NaN or an infinity although
/// nothing that it received did, else the first that held one; null if all values are finite. Needs
/// statistics.
const Event* first_non_finite(const Events& events);

}  // namespace sightline::audit
