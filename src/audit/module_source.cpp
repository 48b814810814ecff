// Lines to functions (module_source.hpp). In this tree a function starts and ends at the first
// column, which is what the formatter sees to.
#include "audit/module_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "audit/embedded_sources.hpp"
#include "base/sha256.hpp"
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

const EmbeddedFile& file_at(const Place& place) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == place.file) return file;
  }
  throw Error(Code::internal, fmt::format("{}: no embedded source of this name", place.file));
}

Place place_of(const std::source_location& where) {
  return {std::string(source_file(where)), static_cast<std::int64_t>(where.line())};
}

Place read_place(const io::JsonReader& json) {
  constexpr std::int64_t kMostLines = 1 << 20;
  return {json.at("file").string(), json.at("line").integer(1, kMostLines)};
}

/// Refuses what these sources cannot explain.
void check_document(const io::JsonReader& root, const std::string& file) {
  constexpr const char* kHow = "write it with 'sightline trace --level all --json'";
  if (!root.has("schema") || !root.has("events")) {
    throw Error(Code::invalid_json,
                fmt::format("{}: expected a document of 'sightline trace --json': {}", file, kHow),
                {{"file", file}});
  }
  if (const std::string& level = root.at("level").string(); level != "all") {
    throw Error(Code::invalid_option,
                fmt::format("--trace: {} shows the level '{}', which leaves out calls: {}", file,
                            level, kHow),
                {{"option", "--trace"}, {"file", file}});
  }
  const io::JsonReader engine = root.at("engine");
  if (!engine.has("sources_sha256") || engine.at("sources_sha256").string() != sources_sha256()) {
    throw Error(Code::invalid_option,
                fmt::format("--trace: {} was written by a binary of other sources, whose lines are "
                            "not those of this one: {}",
                            file, kHow),
                {{"option", "--trace"}, {"file", file}});
  }
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

SourceFunction function_at(const Place& place) {
  const EmbeddedFile& file = file_at(place);
  const Lines lines = lines_of(file.text);
  if (place.line < 1 || place.line > static_cast<std::int64_t>(lines.size())) {
    throw Error(Code::internal,
                fmt::format("{}: line {} is beyond the embedded source", file.path, place.line));
  }
  const auto [first, last] = function_around(lines, place.line);
  SourceFunction function{file.path, {}};
  for (std::size_t i = first; i <= last; ++i)
    function.lines.push_back({static_cast<std::int64_t>(i + 1), lines[i], {}});
  return function;
}

SourceLine* find_line(std::vector<SourceFunction>& functions, const Place& place) {
  for (SourceFunction& function : functions) {
    const std::int64_t at = place.line - function.lines.front().number;
    if (function.file == place.file && at >= 0 &&
        at < static_cast<std::int64_t>(function.lines.size())) {
      return &function.lines[static_cast<std::size_t>(at)];
    }
  }
  return nullptr;
}

const PlacedCall& find_call(const std::vector<PlacedCall>& calls, const std::string& wanted) {
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const PlacedCall& call) {
    return !call.operation && call.path == wanted && !wanted.empty();
  });
  if (found != calls.end()) return *found;
  const auto named = std::find_if(calls.begin(), calls.end(), [&](const PlacedCall& call) {
    return call.class_name == wanted;
  });
  if (named != calls.end()) return *named;
  std::set<std::string_view> classes;
  for (const PlacedCall& call : calls) classes.insert(call.class_name);
  throw Error(
      Code::invalid_option,
      fmt::format("'{}': expected the path of a module that runs (see 'sightline inspect'), "
                  "or one of the classes {}",
                  wanted, fmt::join(classes, ", ")),
      {{"found", wanted}});
}

}  // namespace

std::vector<PlacedCall> placed_calls(const Events& events) {
  std::vector<PlacedCall> calls;
  for (const Event& event : events) {
    calls.push_back({event.index + 1, event.parent + 1, event.path, event.class_name,
                     event.operation, place_of(event.caller), place_of(event.callee)});
  }
  return calls;
}

std::vector<PlacedCall> placed_calls(const io::Json& document, const std::string& file) {
  const io::JsonReader root(document, file, "", Code::invalid_json);
  check_document(root, file);
  constexpr std::int64_t kMostDepth = 1000;
  std::vector<PlacedCall> calls;
  std::vector<std::int64_t> open;  // numbers of the calls around the next one
  const io::JsonReader events = root.at("events");
  for (std::size_t i = 0; i < events.size(); ++i) {
    const io::JsonReader event = events.at(i);
    const auto depth = static_cast<std::size_t>(event.at("depth").integer(0, kMostDepth));
    if (depth > open.size()) event.at("depth").fail("a call inside the one before", "a deeper one");
    open.resize(depth);
    PlacedCall call;
    call.number = static_cast<std::int64_t>(i + 1);
    call.parent = open.empty() ? 0 : open.back();
    call.operation = event.at("kind").string() == "op";
    call.path = event.at("name").string();
    call.class_name = event.at("class").string();
    call.caller = read_place(event.at("caller"));
    call.callee = read_place(event.at("callee"));
    open.push_back(call.number);
    calls.push_back(std::move(call));
  }
  return calls;
}

const std::string& sources_sha256() {
  static const std::string kDigest = [] {
    std::string all;
    for (const EmbeddedFile& file : embedded_files())
      all += fmt::format("{}\n{}\n", file.path, file.text);
    return sha256_hex(all.data(), all.size());
  }();
  return kDigest;
}

ModuleSource module_source(const std::vector<PlacedCall>& calls, const std::string& path_or_class) {
  ModuleSource source;
  source.call = &find_call(calls, path_or_class);
  source.functions.push_back(function_at(source.call->callee));
  for (const PlacedCall& call : calls) {
    if (call.parent != source.call->number) continue;
    SourceLine* line = find_line(source.functions, call.caller);
    if (line == nullptr) {
      source.functions.push_back(function_at(call.caller));
      line = find_line(source.functions, call.caller);
    }
    if (line != nullptr) line->calls.push_back(call.number);
  }
  return source;
}

}  // namespace sightline::audit
