// Rates from times, and back (timeline.hpp).
#include "video/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calc/sampling.hpp"

namespace sightline::video {
namespace {

// Containers round times to their ticks, Matroska to milliseconds.
constexpr double kRounding = 1e-3;
// A stated rate further off than this from frames over duration describes something else.
constexpr double kAgreement = 0.05;
constexpr double kLongest = 1e9;  // seconds; times beyond are damage

bool plausible(double rate) {
  return std::isfinite(rate) && rate >= calc::kMinRate && rate <= calc::kMaxRate;
}

// Differences in double: ticks of a damaged file may lie anywhere.
std::vector<double> seconds_of(const StoredTimes& times) {
  std::vector<double> seconds;
  seconds.reserve(times.ticks.size());
  const auto first = static_cast<double>(times.ticks.front());
  for (const std::int64_t tick : times.ticks)
    seconds.push_back((static_cast<double>(tick) - first) * times.tick);
  return seconds;
}

bool is_variable(const std::vector<double>& seconds, double rate) {
  const double most = 0.5 / rate + kRounding;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (std::abs(seconds[i] - static_cast<double>(i) / rate) > most) return true;
  }
  return false;
}

}  // namespace

std::int64_t Timeline::stored(std::int64_t index) const noexcept {
  if (!variable) return index;
  const double time = static_cast<double>(index) / *rate + kRounding / 2;
  const auto after = std::upper_bound(seconds.begin(), seconds.end(), time);
  return std::max<std::int64_t>(0, after - seconds.begin() - 1);
}

Timeline make_timeline(const StoredTimes& times) {
  Timeline line;
  const auto count = static_cast<std::int64_t>(times.ticks.size());
  line.frames = count;
  if (times.stated_rate && plausible(*times.stated_rate)) line.rate = times.stated_rate;
  std::vector<double> seconds = seconds_of(times);
  const double span = seconds.back();
  if (count < 2 || !(span > 0) || span > kLongest) return line;
  const double own = static_cast<double>(times.last_duration) * times.tick;
  const double total =
      own > 0 ? span + own : span * static_cast<double>(count) / static_cast<double>(count - 1);
  const double mean = static_cast<double>(count) / total;
  const bool agrees = line.rate && std::abs(*line.rate / mean - 1) <= kAgreement;
  if (!agrees) line.rate = plausible(mean) ? std::optional(mean) : std::nullopt;
  if (!line.rate || !is_variable(seconds, *line.rate)) return line;
  line.variable = true;
  line.frames =
      std::clamp<std::int64_t>(std::llround(total * *line.rate), 1, calc::kMaxTotalFrames);
  line.seconds = std::move(seconds);
  return line;
}

std::string variable_rate_note(std::int64_t stored_frames) {
  return fmt::format("variable frame rate: {} frames, sampled by time at the mean rate",
                     stored_frames);
}

}  // namespace sightline::video
