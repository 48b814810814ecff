// Three-axis positions of a prompt: text advances all axes together, a picture spreads over height
// and width. HF: Qwen3_5Model.get_rope_index, specification 6.2. Plain functions on plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/rope.hpp"
#include "nn/vision_positions.hpp"

namespace sightline::model {

/// What a token stands for. Values are transformers' mm_token_type_ids.
enum class TokenType : std::uint8_t { text = 0, image = 1, video = 2 };

/// Types of ids by the two placeholder ids of the configuration (a negative id matches nothing).
std::vector<TokenType> token_types(std::span<const std::int32_t> ids, std::int32_t image_id,
                                   std::int32_t video_id);

/// Adds the positions of a prompt part whose first token has position `start`; grids are consumed
/// in order, by token count; a video grid is t groups of (1, h, w). Returns the position after the
/// part. Throws Error(placeholder_mismatch) when placeholders and grids do not agree, with both
/// counts.
std::int64_t append_positions(std::span<const TokenType> types, std::span<const nn::Grid> images,
                              std::span<const nn::Grid> videos, std::int64_t merge,
                              std::int64_t start, nn::Positions& positions);

}  // namespace sightline::model
