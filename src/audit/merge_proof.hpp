// The proof that pictures became tokens: what went into the insertion of features into embeddings,
// and what came out of it, compared while the run goes on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/events.hpp"
#include "io/json.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::audit {

/// Consecutive placeholders: one picture, or one temporal group of a clip.
struct PlaceholderRun {
  std::int64_t first = 0, tokens = 0;
  std::string sha256;  ///< of its feature rows, float32; empty without values
};

/// One of the four statements about an insertion.
struct Equality {
  const char* key;            ///< in JSON
  const char* text;           ///< for people
  bool expected;              ///< what holds for a right insertion
  std::optional<bool> value;  ///< nothing if no values were computed

  [[nodiscard]] bool ok() const { return value == expected; }
};

/// One insertion: pictures, or clips. Rows are equal if their bits are.
struct MergeProof {
  std::int32_t token_id = -1;  ///< the placeholder
  std::int64_t positions = 0;  ///< of the prompt
  std::vector<PlaceholderRun> runs;
  Shape original, visual, combined;
  std::string original_sha256, visual_sha256, combined_sha256;  ///< of all values; may be empty
  std::optional<bool> visual_rows_equal, placeholder_rows_equal, other_rows_equal;

  [[nodiscard]] std::int64_t placeholders() const;
  /// The first `count` placeholder positions.
  [[nodiscard]] std::vector<std::int64_t> first_positions(std::size_t count) const;
  [[nodiscard]] std::array<Equality, 4> equalities() const;
};

/// Watches a run for its insertions (operation masked_scatter).
class MergeWatch final : public Trace {
 public:
  explicit MergeWatch(const model::ModelInfo& info) : info_(info) {}

  void enter(const Site& site, const std::source_location& caller,
             const std::source_location& callee) override;
  void input(const Site& site, const TensorRef& tensor) override;
  void note(const Site&, const TensorRef&) override {}
  void output(const Site& site, const TensorRef& tensor) override;
  void leave(const Site&) override {}

  /// Pictures first, then clips; empty for a prompt of text alone.
  [[nodiscard]] const std::vector<MergeProof>& proofs() const { return proofs_; }

 private:
  void compare(const std::vector<std::byte>& combined, MergeProof& proof) const;

  const model::ModelInfo& info_;
  std::vector<std::int32_t> ids_;
  std::vector<std::byte> original_, visual_;
  std::vector<MergeProof> proofs_;
};

/// The same of a walk without values: shapes and positions.
std::vector<MergeProof> declared_proofs(const model::ModelInfo& info,
                                        const std::vector<std::int32_t>& ids, const Events& events);

/// True if every statement about every insertion is what it must be.
bool all_ok(const std::vector<MergeProof>& proofs);

/// {"positions", "image_token_id", "image_count", "other_count", "first_positions" (12),
/// "shapes_equal", "image_rows_equal_visual", "image_rows_equal_placeholder",
/// "other_rows_equal_original" (null without values), "ok", "runs", "original", "visual",
/// "combined"}; of a second insertion (clips) the same under "video".
io::Json proof_json(const std::vector<MergeProof>& proofs);

}  // namespace sightline::audit
