// Keys and selection (recorder.hpp).
#include "trace/recorder.hpp"

#include <algorithm>

namespace sightline::trace {

std::string key_of(std::string_view path, std::int64_t call, std::string_view port) {
  std::string key(kKeyPrefix);
  key += path;
  if (call > 0) key += "#" + std::to_string(call);
  if (!port.empty()) {
    key += '|';
    key += port;
  }
  return key;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;  // where the last * stands, what it took
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool Recorder::is_wanted(const Site& site) {
  const auto [at, added] = wanted_.try_emplace(site.path, options_.paths.empty());
  if (added && !at->second) {
    at->second =
        std::any_of(options_.paths.begin(), options_.paths.end(),
                    [&](const std::string& pattern) { return glob_match(pattern, site.path); });
  }
  return at->second;
}

void Recorder::enter(const Site& site, const std::source_location& /*caller*/,
                     const std::source_location& /*callee*/) {
  open_.push_back({calls_[site.path]++, 0, is_wanted(site)});
}

void Recorder::input(const Site& site, const TensorRef& tensor) {
  const bool first = open_.back().inputs++ == 0;
  if (options_.inputs) put(site, first ? "in" : tensor.name, tensor);
}

void Recorder::note(const Site& site, const TensorRef& tensor) {
  if (options_.inner) put(site, tensor.name, tensor);
}

void Recorder::output(const Site& site, const TensorRef& tensor) {
  if (options_.outputs) put(site, {}, tensor);
}

void Recorder::leave(const Site&) { open_.pop_back(); }

void Recorder::put(const Site& site, std::string_view port, const TensorRef& tensor) {
  const Call& call = open_.back();
  if (!call.wanted) return;
  std::string key = key_of(site.path, call.number, port);
  // One port reported twice in one call (a value per segment, say) keeps both.
  const std::int64_t repeat = repeats_[key]++;
  if (repeat > 0) key += "@" + std::to_string(repeat);
  sink_.put(key, tensor);
}

}  // namespace sightline::trace
