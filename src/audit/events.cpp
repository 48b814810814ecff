// Recording of calls (events.hpp).
#include "audit/events.hpp"

#include <fmt/format.h>

#include "io/safetensors.hpp"

namespace sightline::audit {

std::string_view dtype_text(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "bool";
    case DType::u8:
      return "uint8";
    case DType::i8:
      return "int8";
    case DType::i16:
      return "int16";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::i32:
      return "int32";
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::i64:
      return "int64";
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::f8_e5m2:
    case DType::f8_e4m3:
      break;
  }
  return io::dtype_name(dtype);
}

std::string shape_text(const Shape& shape) {
  if (shape.rank() == 1) return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  return text + ")";
}

std::string_view source_file(const std::source_location& where) {
  const std::string_view file = where.file_name();
  const std::size_t place = file.rfind("src/");
  return place == std::string_view::npos ? file : file.substr(place);
}

std::string Event::name() const { return operation ? path + "." + class_name : path; }

std::string Event::key() const { return call == 0 ? name() : name() + "#" + std::to_string(call); }

/// Adds the time of one callback to what now_us() leaves out.
class EventRecorder::Watching {
 public:
  explicit Watching(EventRecorder& recorder) : recorder_(recorder) {
    if (!recorder_.start_) recorder_.start_ = begin_;
  }
  ~Watching() {
    recorder_.recording_us_ +=
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_)
            .count();
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  /// When the callback began, by the run's own clock.
  [[nodiscard]] double begin_us() const {
    return std::chrono::duration<double, std::micro>(begin_ - *recorder_.start_).count() -
           recorder_.recording_us_;
  }

 private:
  EventRecorder& recorder_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

EventTensor EventRecorder::seen(const TensorRef& tensor) const {
  EventTensor result{std::string(tensor.name), tensor.dtype, tensor.shape, {}, {}};
  if (!options_.statistics) return result;
  result.statistics = trace::statistics(tensor);
  if (options_.maps) result.maps = trace::maps(tensor, *result.statistics);
  return result;
}

void EventRecorder::enter(const Site& site, const std::source_location& caller,
                          const std::source_location& callee) {
  const Watching watching(*this);
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
  event.call = calls_[event.name()]++;
  open_.push_back(
      {event.index, options_.tally != nullptr ? options_.tally->work : kernels::Work{}});
  event.start_us = watching.begin_us();
  events_.push_back(std::move(event));
}

void EventRecorder::input(const Site& site, const TensorRef& tensor) {
  const Watching watching(*this);
  if (options_.also != nullptr) options_.also->input(site, tensor);
  open().inputs.push_back(seen(tensor));
}

void EventRecorder::note(const Site& site, const TensorRef& tensor) {
  const Watching watching(*this);
  if (options_.also != nullptr) options_.also->note(site, tensor);
  open().inner.push_back(seen(tensor));
}

void EventRecorder::output(const Site& site, const TensorRef& tensor) {
  const Watching watching(*this);
  if (options_.also != nullptr) options_.also->output(site, tensor);
  open().outputs.push_back(seen(tensor));
}

void EventRecorder::leave(const Site& site) {
  const Watching watching(*this);
  if (options_.also != nullptr) options_.also->leave(site);
  Event& event = open();
  event.duration_us = watching.begin_us() - event.start_us;
  if (options_.tally != nullptr) event.work = options_.tally->work - open_.back().before;
  open_.pop_back();
  if (options_.left) options_.left(event);
}

Events EventRecorder::take() {
  calls_.clear();
  open_.clear();
  start_.reset();
  recording_us_ = 0;
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
