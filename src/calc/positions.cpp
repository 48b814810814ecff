// Positions of prompts (positions.hpp).
#include "calc/positions.hpp"

namespace sightline::calc {
namespace {

/// How far one temporal group advances the position: its longer side, in tokens.
std::int64_t group_span(const Grid& grid, std::int64_t merge) noexcept {
  return (grid.h > grid.w ? grid.h : grid.w) / merge;
}

/// Token `index` inside of a grid that starts at `start`.
Position inside(const Grid& grid, std::int64_t merge, std::int64_t start,
                std::int64_t index) noexcept {
  const std::int64_t width = grid.w / merge, area = (grid.h / merge) * width;
  const std::int64_t at = start + index / area * group_span(grid, merge);
  const std::int64_t token = index % area;
  return {at, at + token / width, at + token % width};
}

}  // namespace

std::int64_t Segment::tokens(std::int64_t merge) const noexcept {
  return text > 0 ? text : grid.tokens(merge);
}

std::int64_t Segment::span(std::int64_t merge) const noexcept {
  return text > 0 ? text : grid.t * group_span(grid, merge);
}

PromptSpan prompt_span(std::span<const Segment> segments, std::int64_t merge) noexcept {
  PromptSpan whole;
  for (const Segment& segment : segments) {
    whole.length += segment.tokens(merge);
    whole.next_position += segment.span(merge);
  }
  return whole;
}

Position position_at(std::span<const Segment> segments, std::int64_t merge,
                     std::int64_t index) noexcept {
  std::int64_t start = 0;
  for (const Segment& segment : segments) {
    const std::int64_t tokens = segment.tokens(merge);
    if (index < tokens) {
      return segment.text > 0 ? Position{start + index, start + index, start + index}
                              : inside(segment.grid, merge, start, index);
    }
    index -= tokens;
    start += segment.span(merge);
  }
  return {start + index, start + index, start + index};
}

}  // namespace sightline::calc
