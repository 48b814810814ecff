// Which calls of a run are shown, and which of them as one line: the levels of `sightline trace`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/events.hpp"

namespace sightline::audit {

/// `root`: the whole, the model, its towers and the head. `stages`: what those call, each block and
/// layer one line. `all`: every call.
enum class Level : std::uint8_t { root, stages, all };

/// Indices of the events of a level, in call order.
std::vector<std::size_t> shown_events(const Events& events, Level level);

/// Consecutive pairs of the shown events: how the run goes from one to the next.
std::vector<std::pair<std::string, std::string>> edges(const Events& events,
                                                       const std::vector<std::size_t>& shown);

/// One line: an event, or equal neighbours that differ by their number alone.
struct Row {
  std::vector<std::size_t> members;  ///< indices of events
  std::string name;                  ///< "model.visual.blocks.0-23"
  std::size_t first = 0;             ///< number of the first member among the shown events, from 1
  bool consecutive = true;           ///< the members' numbers follow each other
  std::size_t depth = 0;             ///< among the shown events
};

/// Lines for the shown events. Neighbours are equal if classes and shapes of the calls and of all
/// shown calls inside them agree; with `full` nothing is folded. Only Level::all nests.
std::vector<Row> folded_rows(const Events& events, const std::vector<std::size_t>& shown,
                             Level level, bool full);

}  // namespace sightline::audit
