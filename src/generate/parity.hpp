// The proof that the engine computes what transformers computes: a reference case is run, and every
// value that the case holds is compared. Knows the VisionLanguageModel interface only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/reference_case.hpp"
#include "model/vision_language_model.hpp"
#include "trace/compare.hpp"

namespace sightline::generate {

struct ParityOptions {
  std::optional<double>
      tolerance;  ///< of logits, as a share of the greatest |logit|; else by precision
  /// 0: the prompt in one piece with the calls of transformers, every module compared. Above: the
  /// prompt in pieces of so many rows, as an engine runs it; modules are not compared.
  std::int64_t piece = 0;
  model::RowKind piece_kind = model::RowKind::prompt;
};

/// One comparison. It passes if `value` is at most `bound`.
struct ParityCheck {
  std::string kind;  ///< "token_types", "positions", "rope_delta", "module", "logits" or "greedy"
  std::string name;  ///< module path ("#1": its second call), else the tensor of the case
  /// Unequal values (token_types, positions, rope_delta, greedy), relative L2 (module) or greatest
  /// error / greatest |reference| (logits); nothing if it can not be told, `detail` says why.
  std::optional<double> value;
  double bound = 0;
  bool ok = false;
  bool required = true;  ///< false: for information, does not fail the case
  std::string detail;    ///< what a person wants to know beside the numbers; may be empty
  std::optional<trace::Comparison> comparison;  ///< of modules and logits
};

struct ParityReport {
  std::string path;
  std::int64_t tokens = 0;
  std::vector<ParityCheck> checks;             ///< modules in call order
  bool ok = false;                             ///< every required check passed
  std::optional<std::string> first_divergent;  ///< the first module, in call order, above its bound
};

/// Runs a case in `pass.precision` (`pass.trace` must be null) and compares positions, delta,
/// modules, logits and greedy tokens: whichever of them the case holds. Placeholder ids in the
/// greedy tokens are ordinary tokens. Throws Error for a case that does not fit the model.
ParityReport run_parity(const model::VisionLanguageModel& model, nn::Pass& pass,
                        const ReferenceCase& reference, const ParityOptions& options = {});

/// Logits (n, vocab_size) of every row of a prompt, computed in pieces of `piece` rows; `cache` is
/// left at the end of the prompt.
void prompt_in_pieces(const model::VisionLanguageModel& model, nn::Pass& pass,
                      const ReferenceCase& reference, const ParityOptions& options,
                      const nn::Positions& positions, model::Cache& cache, View logits);

}  // namespace sightline::generate
