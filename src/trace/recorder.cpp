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

bool selects(const std::vector<std::string>& patterns, std::string_view name) {
  const auto is_port = [](std::string_view text) { return text.find('|') != text.npos; };
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return is_port(pattern) == is_port(name) && glob_match(pattern, name);
  });
}

std::string name_of(const Site& site) {
  return site.operation ? site.path + "." + site.kind : site.path;
}

bool Recorder::is_wanted(const std::string& name) {
  const auto [at, added] = wanted_.try_emplace(name, options_.paths.empty());
  if (added && !at->second) at->second = selects(options_.paths, name);
  return at->second;
}

void Recorder::enter(const Site& site, const std::source_location& /*caller*/,
                     const std::source_location& /*callee*/) {
  std::string name = name_of(site);
  const std::int64_t number = calls_[name]++;
  open_.push_back({std::move(name), number, 0});
}

void Recorder::input(const Site&, const TensorRef& tensor) {
  const bool first = open_.back().inputs++ == 0;
  put(options_.inputs, first ? "in" : tensor.name, tensor);
}

void Recorder::note(const Site&, const TensorRef& tensor) {
  put(options_.inner, tensor.name, tensor);
}

void Recorder::output(const Site&, const TensorRef& tensor) { put(options_.outputs, {}, tensor); }

void Recorder::leave(const Site&) { open_.pop_back(); }

void Recorder::put(bool enabled, std::string_view port, const TensorRef& tensor) {
  const Call& call = open_.back();
  if (call.name.empty()) return;
  const bool asked =
      !port.empty() && !options_.paths.empty() && is_wanted(call.name + "|" + std::string(port));
  if (!asked && !(enabled && is_wanted(call.name))) return;
  std::string key = key_of(call.name, call.number, port);
  // One port reported twice in one call (a value per segment, say) keeps both.
  const std::int64_t repeat = repeats_[key]++;
  if (repeat > 0) key += "@" + std::to_string(repeat);
  sink_.put(key, tensor);
}

}  // namespace sightline::trace
