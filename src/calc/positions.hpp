// Three-axis positions of a prompt with pictures, computed for one token at a time. HF:
// Qwen3_5Model.get_rope_index; specification section 6.2. The engine's lists (model/positions.hpp)
// are tested against these.
#pragma once

#include <cstdint>
#include <span>

#include "calc/sizes.hpp"

namespace sightline::calc {

struct Position {
  std::int64_t t = 0, h = 0, w = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

/// A part of a prompt: text tokens, or the visual tokens of a grid (a group of a clip is a grid
/// with t = 1, text stands between groups).
struct Segment {
  std::int64_t text = 0;  ///< tokens; 0 for a grid
  Grid grid{};            ///< in patches; not used for text

  /// Tokens of the segment.
  [[nodiscard]] std::int64_t tokens(std::int64_t merge) const noexcept;
  /// How far it advances the position.
  [[nodiscard]] std::int64_t span(std::int64_t merge) const noexcept;
};

struct PromptSpan {
  std::int64_t length = 0;         ///< tokens
  std::int64_t next_position = 0;  ///< of the first token after the prompt, on all axes
  /// Position minus index, from there on.
  [[nodiscard]] std::int64_t delta() const noexcept { return next_position - length; }
};

/// Length and end of a prompt that starts at position 0.
PromptSpan prompt_span(std::span<const Segment> segments, std::int64_t merge) noexcept;

/// Position of token `index` of the prompt; a token after its end continues as text.
Position position_at(std::span<const Segment> segments, std::int64_t merge,
                     std::int64_t index) noexcept;

}  // namespace sightline::calc
