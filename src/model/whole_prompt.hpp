// Steps that every family's forward and whole runs take around its own layers: checks of ids and
// sizes, pictures as one matrix, the rows whose logits are wanted, the inputs that a trace shows.
#pragma once

#include <cstdint>
#include <span>

#include "model/vision_language_model.hpp"

namespace sightline::model {

/// Throws Error(invalid_token_id) naming the first id outside of [0, vocab_size).
void check_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size);

/// Throws Error(context_length_exceeded) for more rows than kMaxWholeRows, with the memory that
/// their logits would take; passes that only count have no such limit.
void check_whole_rows(const nn::Pass& pass, std::int64_t rows, std::int64_t vocab_size);

/// All pictures of one call as one matrix (Σ patches, patch_values): theirs if there is one, else a
/// copy in the arena.
ConstView joined_pixels(nn::Pass& pass, std::span<const VisualInput> visuals);

/// Copies the wanted rows of all segments, in order, to gathered (Σ wanted, cols).
void gather_wanted(const nn::Pass& pass, ConstView rows, std::span<const Segment> segments,
                   View gathered);

/// The inputs that transformers' root and model calls receive, in its order; for a traced span.
void show_inputs(nn::Pass& pass, nn::Span& span, const WholePrompt& prompt, const ModelInfo& info);

/// What transformers hands to the language model beside the embeddings: positions (3, 1, rows) and,
/// for a sequence from its start, the mask of ones (1, rows); for a traced span.
void show_positions(nn::Span& span, std::span<const Segment> segments, std::int64_t rows);

}  // namespace sightline::model
