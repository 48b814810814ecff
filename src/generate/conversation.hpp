// The computed state of one conversation: snapshots of the cache at multiples of 64 and what they
// were computed from. Finds the longest part of a new prompt that need not be computed again; runs
// the rest. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "generate/engine_impl.hpp"
#include "generate/prompt.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::generate {

/// A run of the model on behalf of one request.
struct RunContext {
  Engine::Impl& engine;
  const std::atomic<bool>& cancelled;
  Trace* trace = nullptr;
  const OnProgress& on_progress;
};

class Conversation {
 public:
  /// Computes the prompt (from the best snapshot, or cold) and leaves the logits of its last row.
  /// Reports pictures and times in `result`. Throws Error(cancelled); the snapshots stay valid.
  void prefill(const RunContext& run, const Prompt& prompt, Result& result,
               std::span<float> logits);
  /// One step: the token just chosen becomes part of the state, `logits` are those of the next one.
  /// False if the run was cancelled: no further steps then.
  bool step(const RunContext& run, std::int32_t id, std::span<float> logits);
  void clear();

 private:
  /// What decides the state at a position: ids, and the content of the pictures among them.
  struct Key {
    std::vector<std::int32_t> ids;
    struct Run {
      std::int64_t first_token = 0;
      PictureHash hash;
    };
    std::vector<Run> pictures;
  };
  static Key key_of(const Prompt& prompt);
  static std::int64_t common_prefix(const Key& a, const Key& b);

  std::int64_t restore(const RunContext& run, const Prompt& prompt);
  std::vector<std::int64_t> piece_ends(const RunContext& run, const Prompt& prompt,
                                       std::int64_t start,
                                       std::vector<std::int64_t>& snapshots) const;
  void keep_snapshot();
  void run_whole(const RunContext& run, const Prompt& prompt, Result& result,
                 std::span<float> logits);

  Key key_;                              // of the prompt that the snapshots belong to
  std::vector<model::Cache> snapshots_;  // ascending length, each a multiple of 64
  model::Cache live_;
};

}  // namespace sightline::generate
