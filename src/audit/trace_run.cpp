// Running under watch (trace_run.hpp).
#include "audit/trace_run.hpp"

#include <algorithm>
#include <unordered_map>

#include "generate/clock.hpp"
#include "generate/engine_impl.hpp"
#include "trace/tee.hpp"

namespace sightline::audit {
namespace {

/// Gives events the work of the walk's calls; false if the two made different calls. Which experts
/// of a mixture are called is decided by the values, so those may differ: the walk uses all evenly.
bool attribute(const Events& walk, Events& events) {
  constexpr std::string_view kExperts = ".experts.";
  std::unordered_map<std::string, const Event*> counted;
  for (const Event& event : walk) counted.emplace(event.key(), &event);
  std::size_t others = 0;  // calls of the walk that are no expert's and were not met yet
  for (const Event& event : walk) others += event.path.find(kExperts) == std::string::npos ? 1 : 0;
  for (Event& event : events) {
    const bool expert = event.path.find(kExperts) != std::string::npos;
    const auto found = counted.find(event.key());
    const bool same = found != counted.end() && found->second->class_name == event.class_name;
    if (same) event.work = found->second->work;
    if (!same && !expert) return false;
    others -= expert ? 0 : 1;
  }
  return others == 0;
}

bool holds_non_finite(const std::vector<EventTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const EventTensor& tensor) {
    return tensor.statistics && tensor.statistics->non_finite > 0;
  });
}

/// Indices in the order in which the calls ended.
std::vector<std::size_t> by_end(const Events& events) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    while (!open.empty() && static_cast<std::int64_t>(open.back()) != events[i].parent) {
      order.push_back(open.back());
      open.pop_back();
    }
    open.push_back(i);
  }
  order.insert(order.end(), open.rbegin(), open.rend());
  return order;
}

}  // namespace

const model::ModelInfo& info_of(const Engine& engine) { return engine.impl()->model->info(); }

const tokenizer::Tokenizer& tokenizer_of(const Engine& engine) {
  return engine.impl()->prompts->tokenizer();
}

generate::Prompt build_prompt(const Engine& engine, const Request& request) {
  return engine.impl()->prompts->build(request);
}

Walk count_prompt(const Engine& engine, const generate::Prompt& prompt) {
  PromptShape shape;
  std::int64_t visual = 0;
  for (const generate::PromptPicture& picture : prompt.pictures) {
    const image::Grid& grid = picture.picture.grid;
    (picture.is_video() ? shape.videos : shape.images).push_back({grid.t, grid.h, grid.w});
    visual += picture.picture.tokens;
  }
  shape.other_tokens = prompt.tokens() - visual;
  return walk_whole(*engine.impl()->model, shape, engine.impl()->precision);
}

TracedRun trace_run(const Engine& engine, const Request& request, const Walk& walk,
                    const TraceOptions& options, const OnProgress& on_progress) {
  TracedRun run;
  MergeWatch merge(info_of(engine));
  std::vector<Trace*> watchers = options.watchers;
  watchers.push_back(&merge);
  trace::Tee tee(std::move(watchers));
  EventRecorder recorder({options.statistics, nullptr, options.left, &tee, options.maps});
  Session session = engine.open_session();
  session.set_trace(&recorder);
  Request once = request;
  once.max_tokens = 1;
  try {
    session.send(once, {}, on_progress);
  } catch (const Error& error) {
    if (error.code() != Code::non_finite) throw;
    run.failure = error.what();
  }
  run.events = recorder.take();
  run.proofs = merge.proofs();
  run.counted = attribute(walk.events, run.events);
  if (run.counted) run.work = walk.work;
  run.cache_bytes = walk.cache_bytes;
  run.peak_memory_bytes = generate::peak_memory_bytes();
  return run;
}

const Event* first_non_finite(const Events& events) {
  const Event* first = nullptr;
  for (const std::size_t i : by_end(events)) {
    const Event& event = events[i];
    if (!holds_non_finite(event.outputs) && !holds_non_finite(event.inner)) continue;
    if (!holds_non_finite(event.inputs)) return &event;
    if (first == nullptr) first = &event;
  }
  return first;
}

}  // namespace sightline::audit
