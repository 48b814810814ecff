// Recording of calls (events.hpp).
#include "audit/events.hpp"

namespace sightline::audit {

std::string Event::key() const {
  const std::string name = operation ? path + "." + class_name : path;
  return call == 0 ? name : name + "#" + std::to_string(call);
}

double EventRecorder::now_us() {
  const auto now = std::chrono::steady_clock::now();
  if (!start_) start_ = now;
  return std::chrono::duration<double, std::micro>(now - *start_).count();
}

EventTensor EventRecorder::seen(const TensorRef& tensor) const {
  EventTensor result{std::string(tensor.name), tensor.dtype, tensor.shape, std::nullopt};
  if (options_.statistics) result.statistics = trace::statistics(tensor);
  return result;
}

void EventRecorder::enter(const Site& site, const std::source_location& caller,
                          const std::source_location& callee) {
  if (options_.also != nullptr) options_.also->enter(site, caller, callee);
  Event event;
  event.index = static_cast<std::int64_t>(events_.size());
  event.parent = open_.empty() ? -1 : open_.back().event;
  event.depth = static_cast<std::int64_t>(open_.size());
  event.path = site.path;
  event.class_name = site.kind;
  event.operation = site.operation;
  event.caller = caller;
  event.callee = callee;
  event.call = calls_[event.key()]++;
  open_.push_back(
      {event.index, options_.tally != nullptr ? options_.tally->work : kernels::Work{}});
  event.start_us = now_us();
  events_.push_back(std::move(event));
}

void EventRecorder::input(const Site& site, const TensorRef& tensor) {
  if (options_.also != nullptr) options_.also->input(site, tensor);
  open().inputs.push_back(seen(tensor));
}

void EventRecorder::note(const Site& site, const TensorRef& tensor) {
  if (options_.also != nullptr) options_.also->note(site, tensor);
  open().inner.push_back(seen(tensor));
}

void EventRecorder::output(const Site& site, const TensorRef& tensor) {
  if (options_.also != nullptr) options_.also->output(site, tensor);
  open().outputs.push_back(seen(tensor));
}

void EventRecorder::leave(const Site& site) {
  if (options_.also != nullptr) options_.also->leave(site);
  Event& event = open();
  event.duration_us = now_us() - event.start_us;
  if (options_.tally != nullptr) event.work = options_.tally->work - open_.back().before;
  open_.pop_back();
  if (options_.left) options_.left(event);
}

Events EventRecorder::take() {
  calls_.clear();
  start_.reset();
  return std::move(events_);
}

Channel channel_of(const Event& event) {
  const std::string_view path = event.path;
  if (event.operation) return Channel::merge;
  if (path.starts_with("model.visual")) return Channel::vision;
  if (path.starts_with("model.language_model")) return Channel::text;
  if (path.starts_with("lm_head")) return Channel::head;
  return Channel::root;
}

std::string_view channel_name(Channel channel) {
  switch (channel) {
    case Channel::vision:
      return "vision";
    case Channel::merge:
      return "merge";
    case Channel::text:
      return "text";
    case Channel::head:
      return "head";
    case Channel::root:
      break;
  }
  return "model";
}

}  // namespace sightline::audit
