// The one interface above the models: everything that generates, serves or measures sees a
// VisionLanguageModel. Models are const after load and may be used by several threads, each with
// its own Pass and Caches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "model/cache.hpp"
#include "nn/pass.hpp"
#include "nn/rope.hpp"
#include "nn/vision_positions.hpp"

namespace sightline::model {

/// What callers need to know about a loaded model.
struct ModelInfo {
  std::string model_type;  ///< config.json's, e.g. "qwen3_5"
  std::int64_t hidden_size = 0, vocab_size = 0, layers = 0;
  std::int64_t max_positions = 0;  ///< max_position_embeddings
  bool has_vision = false;
  std::int64_t patch_values = 0;  ///< columns of pixel_values
  std::int64_t patch_size = 0, temporal_patch_size = 0, spatial_merge_size = 1;
  std::int32_t image_token_id = -1, video_token_id = -1, vision_start_token_id = -1,
               vision_end_token_id = -1;
  std::vector<std::int32_t> eos_token_ids;  ///< of config.json only
  bool tied_head = false;
  /// The mtp.* tensors that a published checkpoint of this configuration holds; no model runs them.
  std::vector<io::NamedShape> mtp;
  std::int64_t deepstack_layers = 0;  ///< first language layers that features are added after
  io::LoadReport report;

  /// Columns of a feature row: what replaces the embedding, then what is added after each of the
  /// deepstack_layers.
  [[nodiscard]] std::int64_t feature_width() const { return hidden_size * (1 + deepstack_layers); }
};

/// Patches of one picture or clip: pixels (grid.patches(), patch_values).
struct VisualInput {
  ConstView pixels;
  nn::Grid grid;
};

/// Neighbouring rows that come from a picture or clip. Their first hidden_size columns replace the
/// embeddings, which the caller has done (place_features); the other columns are for the model.
struct FeatureRows {
  std::int64_t first_row = 0;  ///< of the prompt, or of the segment that they are handed over with
  ConstView features;          ///< (rows, feature_width)
};

/// Rows of the batch that belong to one sequence. Prompt rows use the chunked form of linear
/// attention and may end anywhere; step rows use the recurrent form: k step rows in one call give
/// the bits of k calls.
enum class RowKind : std::uint8_t { prompt, step };

/// What step rows would have written, so that the first few of them can be committed later (see
/// StepRecord::Layer).
struct StepRecord {
  /// Per layer: keys and values of the rows, or convolution inputs, decays and betas.
  struct Layer {
    std::vector<float> a, b, c;
  };
  std::vector<Layer> layers;
  std::int64_t rows = 0;
};

struct Segment {
  Cache* cache = nullptr;
  std::int64_t first_row = 0, rows = 0;  ///< rows of the batch
  const nn::Positions* positions =
      nullptr;  ///< row first_row has positions->axes[.][first_position]
  std::int64_t first_position = 0;
  RowKind kind = RowKind::prompt;
  std::span<const std::int64_t> wanted;  ///< rows of the segment whose logits are wanted, ascending
  StepRecord* record =
      nullptr;  ///< step rows only: leave the cache unchanged and fill this instead
  std::span<const FeatureRows> features = {};  ///< in rows of the segment
};

/// Where a forward pass leaves its results; empty views are not computed.
struct ForwardResult {
  View logits;        ///< (Σ wanted, vocab_size), segments in order
  View final_hidden;  ///< (all rows, hidden_size) after the final norm
};

/// A whole prompt, for runs that make the calls of transformers (traces, parity).
struct WholePrompt {
  std::span<const std::int32_t> ids;
  std::span<const VisualInput> images, videos;
  const nn::Positions* positions = nullptr;
};

/// Most rows whose logits a whole run computes.
inline constexpr std::int64_t kMaxWholeRows = 2048;

class VisionLanguageModel {
 public:
  virtual ~VisionLanguageModel() = default;

  [[nodiscard]] virtual const ModelInfo& info() const = 0;
  /// An empty state; `precision` fixes the type of keys and values (f32: float32, bf16: bfloat16).
  [[nodiscard]] virtual Cache new_cache(nn::Precision precision) const = 0;

  /// Features of pictures, one after the other: (Σ patches / merge², feature_width). Each picture's
  /// rows have the same bits whether it is alone or among others.
  virtual void encode(nn::Pass& pass, std::span<const VisualInput> visuals,
                      View features) const = 0;
  /// Token embeddings: ids to rows (ids.size(), hidden_size).
  virtual void embed(nn::Pass& pass, std::span<const std::int32_t> ids, View rows) const = 0;
  /// Runs the loaded layers over rows (the embeddings; overwritten by the residual stream) and
  /// appends to the caches. Throws Error(cancelled); the caches are then unusable (restore a copy).
  virtual void forward(nn::Pass& pass, View rows, std::span<const Segment> segments,
                       const ForwardResult& result) const = 0;
  /// Commits the first `rows` step rows of a record into the cache they ran on.
  virtual void commit(nn::Pass& pass, const StepRecord& record, std::int64_t rows,
                      Cache& cache) const = 0;
  /// Logits of hidden rows after the final norm.
  virtual void head(nn::Pass& pass, ConstView final_hidden, View logits) const = 0;

  /// The prompt in one piece with the calls of transformers: embeddings, the tower once over all
  /// pictures and once over all clips, insertion, the layers, the head on every row. logits
  /// (ids.size(), vocab_size). The bits are those of the separate calls above. Throws Error(limit)
  /// above kMaxWholeRows, with the memory it would need.
  virtual void whole(nn::Pass& pass, const WholePrompt& prompt, Cache& cache,
                     View logits) const = 0;
};

/// The runs of placeholder `id` with their feature rows, in order. Throws
/// Error(placeholder_mismatch) unless their numbers agree.
std::vector<FeatureRows> feature_runs(std::span<const std::int32_t> ids, std::int32_t id,
                                      ConstView features);
/// The parts of `runs` in rows [first, first + rows), their first_row counted from `first`.
std::vector<FeatureRows> features_within(std::span<const FeatureRows> runs, std::int64_t first,
                                         std::int64_t rows);
/// Overwrites embeddings (rows, hidden_size) by the first columns of the features that replace
/// them.
void place_features(std::span<const FeatureRows> runs, View embeddings);

/// Overwrites the rows of `embeddings` at placeholder `id` by the feature rows, in order. Throws
/// Error(placeholder_mismatch) unless their numbers agree; nothing is written then.
void merge_features(std::span<const std::int32_t> ids, std::int32_t id, ConstView features,
                    View embeddings);

}  // namespace sightline::model
