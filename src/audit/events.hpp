// The module calls of a run as a list of events: what `trace`, `merge`, `graph` and `hidden` show.
// An EventRecorder watches one run; values are looked at while the run goes on, and not kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/compute.hpp"
#include "sightline/trace.hpp"
#include "trace/statistics.hpp"

namespace sightline::audit {

/// A tensor that a call received, used inside or returned.
struct EventTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<trace::Statistics> statistics;  ///< when asked for
  std::optional<trace::Maps> maps;              ///< when asked for
};

/// "int64", "float32": torch's names of element types.
std::string_view dtype_text(DType dtype);
/// "(1, 80, 2048)", "(80,)".
std::string shape_text(const Shape& shape);
/// The file of a place in the engine's code from its folder src on, however it was compiled:
/// "src/qwen3_5/model.cpp".
std::string_view source_file(const std::source_location& where);

/// One module call, or one operation inside a module (kind `op`).
struct Event {
  std::int64_t index = 0;    ///< position in Events, which is the order of entering
  std::int64_t parent = -1;  ///< index of the enclosing call, -1 for the outermost
  std::int64_t depth = 0;
  std::string path, class_name;
  bool operation = false;
  std::int64_t call = 0;                ///< how many calls this path had before
  std::source_location caller, callee;  ///< the line of the call; the module's function
  std::vector<EventTensor> inputs, inner, outputs;
  /// Since the first event; including nested calls, without the time that recording takes.
  double start_us = 0, duration_us = 0;
  kernels::Work work;  ///< including nested calls; zero without a tally

  /// "path", of an operation "path.class_name".
  [[nodiscard]] std::string name() const;
  /// name(), for further calls "name#k": the key of trace files without its prefix.
  [[nodiscard]] std::string key() const;
};

using Events = std::vector<Event>;

class EventRecorder final : public Trace {
 public:
  struct Options {
    bool statistics = false;                 ///< look at every value of inputs and outputs
    const kernels::Tally* tally = nullptr;   ///< the run's tally, to attribute work
    std::function<void(const Event&)> left;  ///< called for every finished event
    Trace* also = nullptr;                   ///< receives every call too
    bool maps = false;                       ///< with statistics: histograms and row norms too
  };

  explicit EventRecorder(Options options) : options_(std::move(options)) {}

  void enter(const Site& site, const std::source_location& caller,
             const std::source_location& callee) override;
  void input(const Site& site, const TensorRef& tensor) override;
  void note(const Site& site, const TensorRef& tensor) override;
  void output(const Site& site, const TensorRef& tensor) override;
  void leave(const Site& site) override;

  [[nodiscard]] const Events& events() const { return events_; }
  /// The events, the recorder empty.
  [[nodiscard]] Events take();

 private:
  class Watching;  // the time of a callback, which is no time of the run
  [[nodiscard]] EventTensor seen(const TensorRef& tensor) const;
  Event& open() { return events_[static_cast<std::size_t>(open_.back().event)]; }

  struct Open {
    std::int64_t event = 0;
    kernels::Work before;
  };
  Options options_;
  Events events_;
  std::vector<Open> open_;  // calls that have not been left
  std::unordered_map<std::string, std::int64_t> calls_;
  std::optional<std::chrono::steady_clock::time_point> start_;
  double recording_us_ = 0;  // spent in callbacks so far
};

/// Which part of a model a module belongs to, by its path.
enum class Channel : std::uint8_t { root, vision, merge, text, head };
Channel channel_of(const Event& event);
std::string_view channel_name(Channel channel);

}  // namespace sightline::audit
