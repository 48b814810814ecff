// Lines to functions (module_source.hpp). In this tree a function starts and ends at the first
// column, which is what the formatter sees to.
#include "audit/module_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "audit/embedded_sources.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

const EmbeddedFile& file_at(const std::source_location& place) {
  const std::string_view path = source_file(place);
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file;
  }
  throw Error(Code::internal, fmt::format("{}: no embedded source of this name", path));
}

bool starts_function(std::string_view line) {
  constexpr std::string_view kNoStart = " \t}/#";
  return !line.empty() && kNoStart.find(line.front()) == std::string_view::npos;
}

/// Indices of the first and last line of the function around line `number` (from 1).
std::pair<std::size_t, std::size_t> function_around(const Lines& lines, std::int64_t number) {
  auto first = static_cast<std::size_t>(number - 1), last = first;
  while (first > 0 && !starts_function(lines[first])) --first;
  while (first > 0 && lines[first - 1].starts_with("//")) --first;
  while (last + 1 < lines.size() && !lines[last].starts_with("}")) ++last;
  return {first, last};
}

SourceFunction function_at(const std::source_location& place) {
  const EmbeddedFile& file = file_at(place);
  const Lines lines = lines_of(file.text);
  if (place.line() == 0 || place.line() > lines.size()) {
    throw Error(Code::internal,
                fmt::format("{}: line {} is beyond the embedded source", file.path, place.line()));
  }
  const auto [first, last] = function_around(lines, place.line());
  SourceFunction function{file.path, {}};
  for (std::size_t i = first; i <= last; ++i)
    function.lines.push_back({static_cast<std::int64_t>(i + 1), lines[i], {}});
  return function;
}

SourceLine* find_line(std::vector<SourceFunction>& functions, const std::source_location& place) {
  const std::string_view path = source_file(place);
  for (SourceFunction& function : functions) {
    const std::int64_t first = function.lines.front().number;
    const auto at = static_cast<std::int64_t>(place.line()) - first;
    if (function.file == path && at >= 0 && at < static_cast<std::int64_t>(function.lines.size())) {
      return &function.lines[static_cast<std::size_t>(at)];
    }
  }
  return nullptr;
}

const Event& find_call(const Events& events, const std::string& wanted) {
  const auto found = std::find_if(events.begin(), events.end(), [&](const Event& event) {
    return !event.operation && event.path == wanted && !wanted.empty();
  });
  if (found != events.end()) return *found;
  const auto named = std::find_if(events.begin(), events.end(),
                                  [&](const Event& event) { return event.class_name == wanted; });
  if (named != events.end()) return *named;
  std::set<std::string_view> classes;
  for (const Event& event : events) classes.insert(event.class_name);
  throw Error(
      Code::invalid_option,
      fmt::format("'{}': expected the path of a module that runs (see 'sightline inspect'), "
                  "or one of the classes {}",
                  wanted, fmt::join(classes, ", ")),
      {{"found", wanted}});
}

}  // namespace

ModuleSource module_source(const Events& events, const std::string& path_or_class) {
  ModuleSource source;
  source.event = &find_call(events, path_or_class);
  source.functions.push_back(function_at(source.event->callee));
  for (const Event& event : events) {
    if (event.parent != source.event->index) continue;
    SourceLine* line = find_line(source.functions, event.caller);
    if (line == nullptr) {
      source.functions.push_back(function_at(event.caller));
      line = find_line(source.functions, event.caller);
    }
    if (line != nullptr) line->calls.push_back(event.index + 1);
  }
  return source;
}

}  // namespace sightline::audit
