// A module's own C++, found by its recorded calls: the function that a call ran, and which of its
// lines made further calls. Code and trace can so be seen to agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/events.hpp"
#include "io/json.hpp"

namespace sightline::audit {

/// A line of the engine's code.
struct Place {
  std::string file;  ///< "src/qwen3_5/model.cpp"
  std::int64_t line = 0;
};

/// A recorded call and where it stands in the code.
struct PlacedCall {
  std::int64_t number = 0;  ///< from 1: as `trace --level all` counts
  std::int64_t parent = 0;  ///< number of the enclosing call, 0 for the outermost
  std::string path, class_name;
  bool operation = false;
  Place caller, callee;  ///< the line of the call; the module's function
};

std::vector<PlacedCall> placed_calls(const Events& events);

/// The calls of a document that `trace --level all --json` wrote. Throws Error(invalid_json) if it
/// is no such document, Error(invalid_option) if it shows another level or was written by a binary
/// of other sources. `file` is what errors call it.
std::vector<PlacedCall> placed_calls(const io::Json& document, const std::string& file);

/// Hex digest of the sources that are in this binary: lines mean the same where it is the same.
const std::string& sources_sha256();

struct SourceLine {
  std::int64_t number = 0;
  std::string_view text;
  std::vector<std::int64_t> calls;  ///< numbers of the calls that this line made
};

/// A function, with the comment above it.
struct SourceFunction {
  std::string_view file;
  std::vector<SourceLine> lines;
};

struct ModuleSource {
  const PlacedCall* call = nullptr;
  std::vector<SourceFunction> functions;  ///< the module's, then helpers that call for it
};

/// The source of the first call of a module path, or of a class. `calls` must outlive the result.
/// Throws Error(invalid_option) listing the classes if nothing was called so.
ModuleSource module_source(const std::vector<PlacedCall>& calls, const std::string& path_or_class);

}  // namespace sightline::audit
