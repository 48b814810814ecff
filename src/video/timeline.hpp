// When the stored frames of a clip are shown, and which one is on the screen at a time of a
// constant frame rate. Plain numbers; knows no container.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sightline::video {

/// Presentation times as a container has them: ascending, in ticks.
struct StoredTimes {
  std::vector<std::int64_t> ticks;
  double tick = 0;                    ///< seconds
  std::int64_t last_duration = 0;     ///< of the last frame in ticks; 0: unknown
  std::optional<double> stated_rate;  ///< what the container says, frames per second
};

struct Timeline {
  std::optional<double> rate;  ///< frames per second; of a variable one the mean
  bool variable = false;
  std::int64_t frames = 0;  ///< at this rate; all stored ones unless `variable`
  /// Of a variable rate: seconds of each stored frame after the first.
  std::vector<double> seconds;

  /// The stored frame that stands for frame `index`, 0 <= index < frames.
  [[nodiscard]] std::int64_t stored(std::int64_t index) const noexcept;
};

/// The rate is the container's if that agrees with the times, else the mean of the times. The rate
/// counts as variable when some frame lies more than half a frame beside its place. `ticks` must
/// not be empty.
Timeline make_timeline(const StoredTimes& times);

/// What a report says of a variable rate.
std::string variable_rate_note(std::int64_t stored_frames);

}  // namespace sightline::video
