// What `sightline trace` says about a run (or a walk): the calls of a level with their parameters
// and work, the inputs, the totals, the proof; as data and as the JSON document of schema 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/events.hpp"
#include "audit/levels.hpp"
#include "audit/merge_proof.hpp"
#include "audit/module_tree.hpp"
#include "generate/prompt.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::audit {

inline constexpr int kTraceSchema = 1;

/// Parameters of the module that an event calls.
struct ParameterCount {
  std::int64_t parameters = 0, bytes = 0;
  bool tied = false;  ///< they are those of embed_tokens, counted there
};

struct TraceReport {
  std::string engine_version, model, config_sha256;
  bool shapes_only = false;
  const model::ModelInfo* info = nullptr;  ///< borrowed
  ModuleNode tree;
  Events events;
  std::vector<MergeProof> proofs;
  bool counted = false;  ///< events carry work
  kernels::Work work;
  std::int64_t prompt_tokens = 0, visual_tokens = 0;
  std::int64_t cache_bytes = 0;
  std::int64_t peak_memory_bytes = 0;  ///< of the process; of a walk: weights, cache and scratch
  std::optional<std::string> failure;

  [[nodiscard]] ParameterCount parameters_of(const Event& event) const;
  /// Parameters of the whole model, a tied head counted once.
  [[nodiscard]] ParameterCount parameters() const;
  /// False if an insertion is not what it must be, or a value is not finite. A walk is sound.
  [[nodiscard]] bool sound() const;
  /// Microseconds of the outermost call.
  [[nodiscard]] double duration_us() const;
};

/// Hex digest of the compact text of a configuration.
std::string config_sha256(const io::Json& config);

/// {"name", "shape", "dtype"}, and with statistics "stats", with maps "histogram" and "row_norms"
/// (a byte a row in base64, 255 for `max`).
io::Json tensor_json(const EventTensor& tensor);

/// One event: {"i", "t_us", "dur_us", "kind", "name", "class", "call", "depth", "stage", "in",
/// "inner", "out", "stats" (of the first output), "params", "tied", "flops", "weight_bytes",
/// "activation_bytes", "caller", "callee"}. `number` is its line in the table, from 1; "event" its
/// index among all calls.
io::Json event_json(const TraceReport& report, const Event& event, std::size_t number);

/// The document: everything but the prompt's text.
io::Json trace_json(const TraceReport& report, Level level);
/// Adds "prompt", "pictures", "tokens" (id and text each), "positions" (3 lists), "rope_delta".
void add_prompt_json(const generate::Prompt& prompt, const tokenizer::Tokenizer& tokenizer,
                     io::Json& document);

}  // namespace sightline::audit
